// Standard attention with cuBLAS: the yardstick of the benchmarks, faster than what the lessons write by hand. Both
// products are cuBLAS's; the softmax between them is a kernel of ours that reads and writes S once. S is in HBM, and P
// takes its place.
//
// T is float, fa::half or fa::bfloat16. float is fp32 throughout: cuBLAS's default math mode, which rounds no operand
// to TF32. In half precision all that is in HBM is of type T, S and P too; sums and the softmax are float.

#pragma once

#include "fa/device.h"
#include "fa/half.h"
#include "fa/shape.h"

namespace fa {

// out = softmax(scale · Q Kᵀ) V. Runs in the default stream and does not wait for it, if synchronous launches are off.
//
// Rejects, with std::invalid_argument, which names the argument: a shape or options that fa::validate rejects, no
// queries or no keys, and 2³¹ or more heads in all. Needs B · H · Nq · Nk elements of `scratch`; cuBLAS has a workspace
// of its own besides, of a few MiB, which is not counted.
template <class T>
void cublas_standard_attention(hbm<const T> q,  // (B, H, Nq, D)
                               hbm<const T> k,  // (B, H, Nk, D)
                               hbm<const T> v,  // (B, H, Nk, D)
                               hbm<T> out,      // (B, H, Nq, D)
                               const Shape& shape, const Options& options, DeviceScratch& scratch);

// FLOP/s of cuBLAS's product of two n × n matrices of random numbers, 2 n³ FLOP, n = 4096 in float and 8192 in half
// precision: the best of ten after a warm-up. What "share of the measured peak" refers to.
template <class T>
double cublas_peak();
inline double cublas_fp32_peak() { return cublas_peak<float>(); }

}  // namespace fa
