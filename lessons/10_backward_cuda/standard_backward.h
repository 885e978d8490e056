// What lesson 10 is compared with: the backward pass of standard attention in CUDA, with P stored. Given, nothing to do
// here.

#pragma once

#include "fa/byte_counts.h"
#include "fa/device.h"
#include "fa/shape.h"

namespace lesson {

// Lesson 08's formulas as five launches, tiled like lesson 05. dP and dS live in HBM, as P does:
//
//   dV = Pᵀ dO      dP = dO Vᵀ      dS = P ∘ (dP − rowsum(P ∘ dP))      dQ = scale · dS K      dK = scale · dSᵀ Q
//
// Masks and NaN: as in lesson 08. HBM sees exactly standard_backward_traffic(shape), with a causal mask or without. dP
// and dS, and nothing else, come from `scratch`.
//
// Rejects with std::invalid_argument, which names the argument, before anything is written: a shape or options that
// fa::validate rejects; more than 65535 heads, 2097120 queries or keys, or 17179869176 queries of all heads together,
// which are more than a grid holds; an operand of another size.
//
// Source: Dao et al. 2022 (arXiv:2205.14135), Algorithm 3.
void standard_backward(const fa::DeviceBuffer<float>& q,     // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,     // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,     // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& p,     // (B, H, Nq, Nk), of the forward pass
                       const fa::DeviceBuffer<float>& dout,  // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& dq,          // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& dk,          // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& dv,          // (B, H, Nk, D)
                       const fa::Shape& shape, const fa::Options& options, fa::DeviceScratch& scratch);

// The bytes that it moves through HBM, without running it. Throws std::invalid_argument for a shape that fa::validate
// rejects.
fa::Traffic standard_backward_traffic(const fa::Shape& shape);

}  // namespace lesson
