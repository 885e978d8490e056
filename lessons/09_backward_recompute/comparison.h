// What lesson 09 is compared with. Given, nothing to do here.

#pragma once

#include "fa/hbm.h"
#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/traffic.h"

namespace lesson {

// The backward pass of standard attention on metered memory, as five kernels:
//
//   dV = Pᵀ dO      dP = dO Vᵀ      dS = P ∘ (dP − rowsum(P ∘ dP))      dQ = scale · dS K      dK = scale · dSᵀ Q
//
// Each kernel touches each of its operands exactly once: fa::standard_backward_traffic. That is generous: it grants
// each kernel an SRAM that holds an operand of a head, or a row of P and dP, whatever N is.
//
// Masks and NaN: as in lesson 08. dP and dS come from `scratch`, metered under the names "dP" and "dS".
// Source: Dao et al. 2022 (arXiv:2205.14135), Algorithm 3.
void standard_backward(fa::hbm<const float> q,     // (B, H, Nq, D)
                       fa::hbm<const float> k,     // (B, H, Nk, D)
                       fa::hbm<const float> v,     // (B, H, Nk, D)
                       fa::hbm<const float> p,     // (B, H, Nq, Nk), of the forward pass
                       fa::hbm<const float> dout,  // (B, H, Nq, D)
                       fa::hbm<float> dq,          // (B, H, Nq, D)
                       fa::hbm<float> dk,          // (B, H, Nk, D)
                       fa::hbm<float> dv,          // (B, H, Nk, D)
                       const fa::Shape& shape, const fa::Options& options, fa::TrafficMeter& meter,
                       fa::Scratch& scratch);

// The tiles for an SRAM of `sram_bytes`, as lesson 04 chose them: Br = min(Bc, D), and the largest Bc for which
// everything fits by tile_bytes. At least Br = Bc = 1 must fit.
fa::Tiles choose_tiles(fa::Index sram_bytes, fa::Index D);

// Bytes of HBM for one layer's attention in training, in float: q, k, v and out, their gradients, and what is kept
// beyond these from the forward pass to the end of the backward pass.
fa::Index training_bytes(const fa::Shape& shape, fa::Weights weights);

// The training shape of GPT-2 medium, for N queries and keys.
inline fa::Shape model_shape(fa::Index N) { return {.B = 64, .H = 16, .Nq = N, .Nk = N, .D = 64}; }

// The largest N for which training_bytes of the model's shape is at most `bytes`.
fa::Index longest_sequence(fa::Index bytes, fa::Weights weights);

}  // namespace lesson
