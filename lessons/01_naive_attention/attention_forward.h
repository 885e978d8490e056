// Lesson 01: standard attention, as the formulas read. The contract of
// exercises/01_naive_attention/attention_forward.cpp.
//
// For each batch b and head h, with keys j that query i sees (all of them, or j ≤ i + Nk − Nq under a causal mask):
//
//   s_ij = scale · Σ_d q_id k_jd         scores
//   p_ij = e^(s_ij − m_i) / l_i          m_i = max_j s_ij,  l_i = Σ_j e^(s_ij − m_i): each row of P sums to 1
//   out_id = Σ_j p_ij v_jd               a weighted mean of the rows of V
//
// Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.1; Dao et al. 2022 (arXiv:2205.14135), section 2.2.
//
// Promises:
//   - Operands are float, row-major, contiguous; `scale` is 1/sqrt(D) unless options say otherwise; any finite scale.
//   - A pair that the mask hides has s = −inf and p = 0, and its row of V is not used: 0 · NaN would be NaN.
//   - A row that sees no key, or only scores of −inf, has p = 0 and out = 0.
//   - Scores of any size are right: a row's result depends on differences of scores only.
//   - A NaN reaches every out that depends on it; so does a score of +inf (inf − inf). A score of −inf weighs 0.
//   - Working memory comes from `scratch`: S and P, 2 · B · H · Nq · Nk floats. That grows as N².
//
// Rejects with std::invalid_argument, which names the argument, before anything is written: a shape or options that
// fa::validate rejects; a null pointer to an operand that has elements.

#pragma once

#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. Writes all of S: hidden pairs get −inf.
void attention_scores(const float* q,  // (B, H, Nq, D)
                      const float* k,  // (B, H, Nk, D)
                      float* s,        // (B, H, Nq, Nk)
                      const fa::Shape& shape, const fa::Options& options);

// Step 2. P = softmax of each row of S, in three passes over the row: maximum, sum, division.
void softmax_rows(const float* s,  // (rows, columns)
                  float* p,        // (rows, columns)
                  fa::Index rows, fa::Index columns);

// Step 3. out = P V, over the keys that each query sees.
void weighted_values(const float* p,  // (B, H, Nq, Nk)
                     const float* v,  // (B, H, Nk, D)
                     float* out,      // (B, H, Nq, D)
                     const fa::Shape& shape, const fa::Options& options);

// Step 4. The three together.
// [signature]
void attention_forward(const float* q,  // (B, H, Nq, D)
                       const float* k,  // (B, H, Nk, D)
                       const float* v,  // (B, H, Nk, D)
                       float* out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::Scratch& scratch);
// [/signature]

}  // namespace lesson
