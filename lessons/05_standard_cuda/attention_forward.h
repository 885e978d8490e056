// Lesson 05: standard attention in CUDA, forward pass, float. The contract of
// exercises/05_standard_cuda/attention_forward.cu.
//
//   S = scale · Q Kᵀ      P = softmax(S), row by row      out = P V
//
// Each of the three is a kernel; S and P live in HBM. It is the baseline that FlashAttention has to beat.
//
// Source: Dao et al. 2022 (arXiv:2205.14135), Algorithm 0. The softmax in two passes: Milakov and Gimelshein 2018
// (arXiv:1805.02867), Algorithm 3.
//
// Promises, besides those of lesson 01 (masks, NaN, −inf, scores of any size, rows that see no key):
//   - HBM sees exactly forward_traffic(shape), with a causal mask or without; less only for queries that see no key.
//   - S and P, and nothing else, come from `scratch`.
//
// All of it holds as long as finite operands give scores, and weighted sums of v, that are finite in float, term by
// term.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape or options that
// fa::validate rejects and an operand of another size; with fa::LaunchError more than 65535 heads or 2097120 queries,
// since a grid has no more rows.

#pragma once

#include "fa/byte_counts.h"
#include "fa/device.h"
#include "fa/shape.h"

namespace lesson {

// Rows and columns of a tile, and of a block of threads in steps 1, 2 and 4.
inline constexpr fa::Index tile = 32;

// Steps 1 and 2: S = scale · Q Kᵀ, and −inf where query i does not see key j. Step 1 reads every operand from HBM,
// 2 D elements for each score; step 2 goes through shared memory, where a tile of q and one of k serve 32 scores each.
void scores_untiled(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                    const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                    fa::DeviceBuffer<float>& s,        // (B, H, Nq, Nk)
                    const fa::Shape& shape, const fa::Options& options);
void scores(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
            const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
            fa::DeviceBuffer<float>& s,        // (B, H, Nq, Nk)
            const fa::Shape& shape, const fa::Options& options);

// Step 3: P = softmax(S), one warp for each row. Reads S twice. A row with only −inf becomes zeros.
void softmax(const fa::DeviceBuffer<float>& s,  // (B, H, Nq, Nk)
             fa::DeviceBuffer<float>& p,        // (B, H, Nq, Nk)
             const fa::Shape& shape);

// Step 4: out = P V, over the keys that the query sees.
void product(const fa::DeviceBuffer<float>& p,  // (B, H, Nq, Nk)
             const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
             fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
             const fa::Shape& shape, const fa::Options& options);

// Step 5: the whole, by steps 2, 3 and 4.
// [signature]
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::DeviceScratch& scratch);
// [/signature]

// Step 6: the bytes that step 5 moves through HBM, without running it. Throws std::invalid_argument for a shape that
// fa::validate rejects.
fa::Traffic forward_traffic(const fa::Shape& shape);

}  // namespace lesson
