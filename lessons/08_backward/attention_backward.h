// Lesson 08: the gradients of attention, as the formulas read, with P stored. The contract of
// exercises/08_backward/attention_backward.cpp.
//
// The forward pass was s_ij = scale · q_i · k_j, p_i = softmax(s_i), out_i = Σ_j p_ij v_j. Given dout, the gradient of
// a loss by out, over the pairs in which query i sees key j:
//
//   dv_j = Σ_i p_ij dout_i            dV = Pᵀ dO
//   dp_ij = dout_i · v_j              dP = dO Vᵀ
//   delta_i = Σ_j p_ij dp_ij          = dout_i · out_i, which needs neither P nor dP
//   ds_ij = p_ij (dp_ij − delta_i)    dS = P ∘ (dP − delta)
//   dq_i = scale · Σ_j ds_ij k_j      dQ = scale · dS K
//   dk_j = scale · Σ_i ds_ij q_i      dK = scale · dSᵀ Q
//
// Source: Dao et al. 2022 (arXiv:2205.14135), appendix B.2, and Algorithm 3.
//
// Promises:
//   - Operands are float, row-major, contiguous; `scale` is 1/sqrt(D) unless options say otherwise; any finite scale.
//   - A pair that the mask hides takes no part: its value and key are not used, since 0 · NaN would be NaN. A row that
//     sees no key has dq = 0 and adds nothing to dk and dv.
//   - p and out are those of a forward pass (lesson 01): the rows of p sum to 1, or are 0 if no key is seen.
//   - A NaN reaches every gradient that depends on it, and no other.
//   - Working memory comes from `scratch`: dP, dS and delta, at most B · H · Nq · (2 Nk + 1) floats. That grows as N².
//
// Rejects with std::invalid_argument, which names the argument, before anything is written: a shape or options that
// fa::validate rejects; a null pointer to an operand that has elements.

#pragma once

#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. dV = Pᵀ dO. A key that no query sees has dv = 0.
void value_gradient(const float* p,     // (B, H, Nq, Nk)
                    const float* dout,  // (B, H, Nq, D)
                    float* dv,          // (B, H, Nk, D)
                    const fa::Shape& shape, const fa::Options& options);

// Step 2. dP = dO Vᵀ; 0 where the mask hides the pair.
void weight_gradient(const float* dout,  // (B, H, Nq, D)
                     const float* v,     // (B, H, Nk, D)
                     float* dp,          // (B, H, Nq, Nk)
                     const fa::Shape& shape, const fa::Options& options);

// Step 3. delta twice: from the weights, rowsum(P ∘ dP), and from the outputs, rowsum(dO ∘ O). In exact arithmetic the
// two are equal; the second needs D numbers a row in place of Nk.
void delta_from_weights(const float* p,   // (rows, columns)
                        const float* dp,  // (rows, columns)
                        float* delta,     // (rows)
                        fa::Index rows, fa::Index columns);
void delta_from_outputs(const float* dout,  // (rows, D)
                        const float* out,   // (rows, D)
                        float* delta,       // (rows)
                        fa::Index rows, fa::Index D);

// Step 4. dS = P ∘ (dP − delta), row by row: the gradient through the softmax.
void score_gradient(const float* p,      // (rows, columns)
                    const float* dp,     // (rows, columns)
                    const float* delta,  // (rows)
                    float* ds,           // (rows, columns)
                    fa::Index rows, fa::Index columns);

// Step 5. dQ = scale · dS K and dK = scale · dSᵀ Q.
void query_key_gradients(const float* ds,  // (B, H, Nq, Nk)
                         const float* q,   // (B, H, Nq, D)
                         const float* k,   // (B, H, Nk, D)
                         float* dq,        // (B, H, Nq, D)
                         float* dk,        // (B, H, Nk, D)
                         const fa::Shape& shape, const fa::Options& options);

// Step 6. All of it, with delta from the outputs.
// [signature]
void attention_backward(const float* q,     // (B, H, Nq, D)
                        const float* k,     // (B, H, Nk, D)
                        const float* v,     // (B, H, Nk, D)
                        const float* p,     // (B, H, Nq, Nk), of the forward pass
                        const float* out,   // (B, H, Nq, D), of the forward pass
                        const float* dout,  // (B, H, Nq, D)
                        float* dq,          // (B, H, Nq, D)
                        float* dk,          // (B, H, Nk, D)
                        float* dv,          // (B, H, Nk, D)
                        const fa::Shape& shape, const fa::Options& options, fa::Scratch& scratch);
// [/signature]

}  // namespace lesson
