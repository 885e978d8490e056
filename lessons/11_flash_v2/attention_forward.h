// Lesson 11: FlashAttention-2 in CUDA, forward pass, float. The contract of exercises/11_flash_v2/attention_forward.cu.
//
// Q tiles outside, on the grid: one block for each tile of Br queries of each (batch, head). K/V tiles inside. The
// state of lesson 02 stays in registers until the last key has passed:
//
//   m' = max(m, max_j s_j)    l' = e^(m − m') l + Σ_j e^(s_j − m')    u' = e^(m − m') u + Σ_j e^(s_j − m') v_j
//
// and then out = u / l and lse = m + ln l are written, once.
//
// Source: Dao 2023, FlashAttention-2 (arXiv:2307.08691), Algorithm 1.
//
// Promises, besides those of lesson 03 (masks, NaN, −inf, scores of any size):
//   - HBM sees exactly fa::v2_forward_traffic(shape, options, {Br, Bc}): tiles that no query of the block sees are left
//     out.
//   - The launch has ⌈Nq / Br⌉ · H · B blocks, grid(shape). They share nothing but what they read.
//   - A block uses exactly shared_memory_bytes(D) of shared memory.
//   - No memory is allocated, and the same inputs give the same bits, on every run.
//
// All of it holds as long as finite operands give scores, and weighted sums of v, that are finite in float, term by
// term: u is divided by l at the end only, so it may be Nk times as large as v.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape or options that
// fa::validate rejects, more than 65535 heads or batches, D above 128, and an operand of another size; with
// std::length_error tiles that do not fit into the shared memory of a block, with both sizes.

#pragma once

#include "fa/device.h"
#include "fa/launch_shape.h"
#include "fa/shape.h"

namespace lesson {

// The tiles. Each thread owns 4 rows of a tile and every 8th column, so the compiler must know their sizes.
inline constexpr int Br = 64;  // queries of a block
inline constexpr int Bc = 32;  // keys of a tile

// The columns that the kernel computes with: D, rounded up to 32, 64 or 128.
constexpr int padded_columns(fa::Index D) { return D <= 32 ? 32 : D <= 64 ? 64 : 128; }

// Step 1. The blocks of a launch: tiles of Br queries, heads, batches.
fa::Extents grid(const fa::Shape& shape);

// Step 1. Bytes of shared memory of a block, in float: with C = padded_columns(D), the tiles of q (Br, C + 1), of k and
// v (Bc, C + 1), and P (Br, Bc + 1). Each is rounded up to a multiple of 16 (fa::shared_bytes).
fa::Index shared_memory_bytes(fa::Index D);

// [signature]
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& lse,      // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options);
// [/signature]

}  // namespace lesson
