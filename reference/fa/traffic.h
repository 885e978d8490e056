// Closed formulas: bytes through HBM, peak working memory in HBM and floating-point operations, by algorithm: of the
// forward pass, then of the backward pass. Lessons 04 and 09 count the same bytes by running and assert that both agree
// to the byte.
//
// Bytes count what an algorithm asks HBM for, before any cache. All matrices have elements of `element_bytes`; the
// statistics m, l and lse are always float.

#pragma once

#include "fa/byte_counts.h"
#include "fa/shape.h"

namespace fa {

inline constexpr Index statistic_bytes = 4;

// Standard attention, three kernels that touch each operand once: S = scale Q Kᵀ; P = softmax(S); out = P V. A head
// reads Q, K, S, P, V and writes S, P, out: 4 Nq Nk + 2 (Nq + Nk) D elements. A causal mask changes nothing here.
Traffic standard_forward_traffic(const Shape& shape, Index element_bytes = 4);

// FlashAttention (arXiv:2205.14135, Algorithm 1): K/V tiles outside, Q tiles inside; out, m and l live in HBM. A head
// writes out, m, l once to initialize them; reads K and V once; and for each pair of tiles that is not masked as a
// whole reads and writes the rows of out, m and l and reads those of Q. Without a mask, for N queries and keys and
// Tc = ⌈N / Bc⌉:
//   reads 2 N D + Tc (2 N D + 2 N)      writes (N D + 2 N) + Tc (N D + 2 N)      elements
Traffic v1_forward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes = 4);

// The same on tensor cores, as lesson 07 writes it: q, k, v and out in half precision (2 bytes), and between K/V tiles
// `partial`, the rows of out in float, with m and l. The first K/V tile begins the state of all rows and reads none of
// it; the last one that a Q tile meets writes out in place of partial. Without a mask:
//   reads 2 · 2 N D + Tc · 2 N D + (Tc − 1) (4 N D + 8 N)      writes Tc · 8 N + (Tc − 1) 4 N D + 2 N D      bytes
Traffic v1_tensor_core_traffic(const Shape& shape, const Options& options, const Tiles& tiles);

// FlashAttention-2 (arXiv:2307.08691, Algorithm 1): Q tiles outside, K/V tiles inside; out and lse are written once.
// Without a mask, Tr = ⌈Nq / Br⌉:
//   reads Nq D + Tr · 2 Nk D      writes Nq D + Nq      elements
Traffic v2_forward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes = 4);

// What no algorithm can avoid without a mask: read Q, K, V, write out and lse.
Traffic least_forward_traffic(const Shape& shape, Index element_bytes = 4);

// Working memory in HBM beyond q, k, v and out: S and P; m and l; partial, m and l; lse.
Index standard_forward_scratch(const Shape& shape, Index element_bytes = 4);
Index v1_forward_scratch(const Shape& shape);
Index v1_tensor_core_scratch(const Shape& shape);
Index v2_forward_scratch(const Shape& shape);

// Additions and multiplications of the two products, 4 D for each pair of a query and a key that it sees. So 4 N² D a
// head without a mask, and about half of that with a causal one. Standard attention computes masked scores all the
// same: call it with options that have no mask.
Index forward_flops(const Shape& shape, const Options& options);

// Standard attention's backward pass, five kernels that touch each operand once: dV = Pᵀ dO; dP = dO Vᵀ; dS = P ∘ (dP −
// rowsum(P ∘ dP)); dQ = scale dS K; dK = scale dSᵀ Q. A head moves 7 Nq Nk + 8 N D elements where Nq = Nk = N. A causal
// mask changes nothing here.
Traffic standard_backward_traffic(const Shape& shape, Index element_bytes = 4);

// FlashAttention's (arXiv:2205.14135, Algorithm 4): K/V tiles outside, Q tiles inside; dq lives in HBM. A head writes
// dq once to initialize it; reads K and V and writes dK and dV once; and for each pair of tiles that is not masked as a
// whole reads the rows of Q, out, dO, dq, m and l and writes those of dq. Without a mask, for N queries and keys and
// Tc = ⌈N / Bc⌉:
//   reads 2 N D + Tc (4 N D + 2 N)      writes 3 N D + Tc N D      elements
Traffic v1_backward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes = 4);

// Working memory in HBM of a forward pass and its backward pass, beyond operands, out and gradients: P, dP, dS, and
// delta, a float for each query; m and l.
Index standard_training_scratch(const Shape& shape, Index element_bytes = 4);
Index v1_training_scratch(const Shape& shape);

// Additions and multiplications of the products of the backward pass, 2 D a product for each pair of a query and a key
// that it sees. With P stored there are four: dV, dP, dQ, dK, 8 N² D a head without a mask. If P is recomputed, Q Kᵀ is
// the fifth: 10 N² D.
enum class Weights { stored, recomputed };
Index backward_flops(const Shape& shape, const Options& options, Weights weights);

// All throw std::invalid_argument for a shape, options or tiles that fa::validate rejects, for element_bytes < 1, and
// for extents so large that a result might pass 2⁶³.

}  // namespace fa
