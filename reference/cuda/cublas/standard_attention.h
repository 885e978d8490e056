// Standard attention in fp32 with cuBLAS: the yardstick of the benchmarks, faster than what the lessons write by hand.
// Both products are cuBLAS's; the softmax between them is a kernel of ours that reads and writes S once. S is in HBM,
// and P takes its place.
//
// fp32 throughout: cuBLAS's default math mode, which rounds no operand to TF32.

#pragma once

#include "fa/device.h"
#include "fa/shape.h"

namespace fa {

// out = softmax(scale · Q Kᵀ) V. Runs in the default stream and does not wait for it, if synchronous launches are off.
//
// Rejects, with std::invalid_argument, which names the argument: a shape or options that fa::validate rejects, no
// queries or no keys, and 2³¹ or more heads in all. Needs B · H · Nq · Nk floats of `scratch`; cuBLAS has a workspace
// of its own besides, of a few MiB, which is not counted.
void cublas_standard_attention(hbm<const float> q,  // (B, H, Nq, D)
                               hbm<const float> k,  // (B, H, Nk, D)
                               hbm<const float> v,  // (B, H, Nk, D)
                               hbm<float> out,      // (B, H, Nq, D)
                               const Shape& shape, const Options& options, DeviceScratch& scratch);

// FLOP/s of cuBLAS's fp32 product of two 4096 × 4096 matrices of random numbers, 2 · 4096³ FLOP: the best of ten after
// a warm-up. What "share of the measured peak" refers to.
double cublas_fp32_peak();

}  // namespace fa
