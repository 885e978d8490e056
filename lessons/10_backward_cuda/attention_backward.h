// Lesson 10: the backward pass of FlashAttention V1 in CUDA, float. The contract of
// exercises/10_backward_cuda/attention_backward.cu.
//
// First a kernel for all rows: delta_i = dout_i · out_i. Then K/V tiles outside, Q tiles inside, one block for each
// (batch, head): dk and dv of a K/V tile are summed up in shared memory and written once; dq lives in HBM and travels
// once per K/V tile. For each pair of tiles, over the pairs in which query i sees key j:
//
//   p_ij = e^(scale · q_i · k_j − m_i) / l_i      ds_ij = p_ij (dout_i · v_j − delta_i)
//   dq_i += scale · Σ_j ds_ij k_j      dv_j += Σ_i p_ij dout_i      dk_j += scale · Σ_i ds_ij q_i
//
// Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135), Algorithm 4; delta in a kernel of its own: Dao 2023,
// FlashAttention-2 (arXiv:2307.08691), Algorithm 2.
//
// Promises, besides those of lesson 09 (masks, NaN, rows that see no key, any tiles, m and l of a forward pass):
//   - HBM sees exactly backward_traffic(shape, options, tiles).
//   - A block uses exactly shared_memory_bytes(tiles, D) of shared memory. delta, and nothing else, comes from
//     `scratch`.
//   - The same inputs give the same bits, on every run.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects, a negative first_tile, and an operand of another size. attention_backward and absorb_tiles
// also reject an H above 65535 so, and with std::length_error tiles that do not fit into the shared memory of a block,
// with both sizes.

#pragma once

#include "fa/byte_counts.h"
#include "fa/device.h"
#include "fa/shape.h"

namespace lesson {

// Step 1. Bytes of shared memory for a pair of tiles, in float: the tiles of q and dout (Br, D), of k and v (Bc, D +
// 1), of dk and dv (Bc, D), P and dS (Br, Bc), and the rows of m, l and delta (Br). Each is rounded up to a multiple of
// 16 (fa::shared_bytes).
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);

// Step 2. What must be there before the first K/V tile: delta_i = Σ_d dout_id out_id, and a dq of zeros.
void prepare(const fa::DeviceBuffer<float>& out,   // (B, H, Nq, D)
             const fa::DeviceBuffer<float>& dout,  // (B, H, Nq, D)
             fa::DeviceBuffer<float>& delta,       // (B, H, Nq)
             fa::DeviceBuffer<float>& dq,          // (B, H, Nq, D)
             const fa::Shape& shape);

// Steps 3 to 5. Adds to dq what the K/V tiles first_tile, first_tile + 1, ... end_tile − 1 contribute, and writes their
// rows of dk and dv. Tile t holds the keys from t · Bc on; what lies past Nk is nothing. So the pass can stop after any
// tile: then dq is the gradient over the keys so far, and dk and dv of these keys are final.
void absorb_tiles(const fa::DeviceBuffer<float>& q,      // (B, H, Nq, D)
                  const fa::DeviceBuffer<float>& k,      // (B, H, Nk, D)
                  const fa::DeviceBuffer<float>& v,      // (B, H, Nk, D)
                  const fa::DeviceBuffer<float>& m,      // (B, H, Nq)
                  const fa::DeviceBuffer<float>& l,      // (B, H, Nq)
                  const fa::DeviceBuffer<float>& dout,   // (B, H, Nq, D)
                  const fa::DeviceBuffer<float>& delta,  // (B, H, Nq)
                  fa::DeviceBuffer<float>& dq,           // (B, H, Nq, D)
                  fa::DeviceBuffer<float>& dk,           // (B, H, Nk, D)
                  fa::DeviceBuffer<float>& dv,           // (B, H, Nk, D)
                  const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile,
                  fa::Index end_tile);

// The whole: prepare, then all tiles in one launch.
// [signature]
void attention_backward(const fa::DeviceBuffer<float>& q,     // (B, H, Nq, D)
                        const fa::DeviceBuffer<float>& k,     // (B, H, Nk, D)
                        const fa::DeviceBuffer<float>& v,     // (B, H, Nk, D)
                        const fa::DeviceBuffer<float>& out,   // (B, H, Nq, D), of the forward pass
                        const fa::DeviceBuffer<float>& m,     // (B, H, Nq), of the forward pass
                        const fa::DeviceBuffer<float>& l,     // (B, H, Nq), of the forward pass
                        const fa::DeviceBuffer<float>& dout,  // (B, H, Nq, D)
                        fa::DeviceBuffer<float>& dq,          // (B, H, Nq, D)
                        fa::DeviceBuffer<float>& dk,          // (B, H, Nk, D)
                        fa::DeviceBuffer<float>& dv,          // (B, H, Nk, D)
                        const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles,
                        fa::DeviceScratch& scratch);
// [/signature]

// Step 6. The bytes that attention_backward moves through HBM, without running it. Throws std::invalid_argument for a
// shape, options or tiles that fa::validate rejects.
fa::Traffic backward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);

}  // namespace lesson
