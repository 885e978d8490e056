// Lesson 03: exact attention from tiles, Q tiles outside, K/V tiles inside. The contract of
// exercises/03_tiled_attention/attention_forward.cpp.
//
// The same out as in lesson 01, and of each row the log-sum-exp of its scores, which the backward pass will need:
//
//   s_ij = scale · Σ_d q_id k_jd      out_id = Σ_j e^(s_ij − lse_i) v_jd      lse_i = ln Σ_j e^(s_ij)
//
// over the keys j that query i sees. S and P exist one (Br, Bc) tile at a time.
//
// Source: Dao 2023, FlashAttention-2 (arXiv:2307.08691), section 3.1 and Algorithm 1.
//
// Promises, besides those of lesson 01 (masks, NaN, −inf, scores of any size):
//   - Any Br, Bc ≥ 1: they need not divide Nq or Nk, and may be larger. The result is that of the same formulas.
//   - A row that sees no key, or only scores of −inf, gives out = 0 and lse = −inf.
//   - Each Q tile is read once. Of K and V, a Q tile reads those tiles that one of its queries sees. out and lse are
//     written once and never read. fa::v2_forward_traffic counts the bytes.
//   - Working memory comes from `sram`: 4 · ((2 Br + 2 Bc) D + Br Bc + 2 Br) bytes, whatever N is. What is left to grow
//     with N is lse, one float a query.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects and an operand of another size; with std::length_error, from fa::Scratch, tiles that do not
// fit.

#pragma once

#include "fa/hbm.h"
#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. A tile of S: s_rc = scale · Σ_d q_rd k_cd. K is stored transposed, so that neighboring keys are neighbors in
// memory and the compiler can compute several scores with one instruction.
void score_tile(const float* q_tile,  // (rows, D)
                const float* k_tile,  // (D, columns): transposed
                float* s_tile,        // (rows, columns)
                fa::Index rows, fa::Index columns, fa::Index D, float scale);

// Step 2. Absorbs `keys` scores of one row into its state: lesson 02's absorb, with u a vector of D.
//   m' = max(m, max_j s_j)    l' = e^(m − m') l + Σ_j e^(s_j − m')    u' = e^(m − m') u + Σ_j e^(s_j − m') v_j
// The weights e^(s_j − m') replace the scores.
void absorb_row(float* s_row,         // (keys)
                const float* v_tile,  // (keys, D)
                float& m, float& l,
                float* u_row,  // (D)
                fa::Index keys, fa::Index D);

// Step 3, all tiles; Step 4, the causal mask: tiles that no query of the Q tile sees are skipped.
// [signature]
void attention_forward(fa::hbm<const float> q,  // (B, H, Nq, D)
                       fa::hbm<const float> k,  // (B, H, Nk, D)
                       fa::hbm<const float> v,  // (B, H, Nk, D)
                       fa::hbm<float> out,      // (B, H, Nq, D)
                       fa::hbm<float> lse,      // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram);
// [/signature]

}  // namespace lesson
