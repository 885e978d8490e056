// The gradients of standard attention, on the CPU. Dao et al. 2022 (arXiv:2205.14135), appendix B.2.
//
// Extends lesson 01: its three steps, backward, each formula a loop again. P is kept from the forward pass; dP and dS
// are as large.

#include "attention_backward.h"

#include <algorithm>

namespace lesson {

void value_gradient(const float* p,     // (B, H, Nq, Nk)
                    const float* dout,  // (B, H, Nq, D)
                    float* dv,          // (B, H, Nk, D)
                    const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;

  // TODO begin
  // Set dv to 0. Then for each head and query: add the row of dout, times p_ij, to row j of dv, for each key it sees.
  fa::todo("Step 1: dV");
  // TODO end
}

void weight_gradient(const float* dout,  // (B, H, Nq, D)
                     const float* v,     // (B, H, Nk, D)
                     float* dp,          // (B, H, Nq, Nk)
                     const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;

  // TODO begin
  // For each head and query: its dout times the row of v, for each key it sees; 0 for each key hidden from it.
  fa::todo("Step 2: dP");
  // TODO end
}

void delta_from_weights(const float* p,   // (rows, columns)
                        const float* dp,  // (rows, columns)
                        float* delta,     // (rows)
                        fa::Index rows, fa::Index columns) {
  // TODO begin
  // For each row: the sum of p times dp.
  fa::todo("Step 3: delta from the weights");
  // TODO end
}

void delta_from_outputs(const float* dout,  // (rows, D)
                        const float* out,   // (rows, D)
                        float* delta,       // (rows)
                        fa::Index rows, fa::Index D) {
  // TODO begin
  // For each row: the sum of dout times out.
  fa::todo("Step 3: delta from the outputs");
  // TODO end
}

void score_gradient(const float* p,      // (rows, columns)
                    const float* dp,     // (rows, columns)
                    const float* delta,  // (rows)
                    float* ds,           // (rows, columns)
                    fa::Index rows, fa::Index columns) {
  // TODO begin
  // For each row and column: p times the difference of dp and the row's delta.
  fa::todo("Step 4: dS");
  // TODO end
}

void query_key_gradients(const float* ds,  // (B, H, Nq, Nk)
                         const float* q,   // (B, H, Nq, D)
                         const float* k,   // (B, H, Nk, D)
                         float* dq,        // (B, H, Nq, D)
                         float* dk,        // (B, H, Nk, D)
                         const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;
  const float scale = fa::scale_of(shape, options);

  // TODO begin
  // Set dq and dk to 0. Then for each pair of a query and a key it sees: ds_ij times the scale, times k_j to dq_i,
  // times q_i to dk_j.
  fa::todo("Step 5: dQ and dK");
  // TODO end
}

void attention_backward(const float* q,     // (B, H, Nq, D)
                        const float* k,     // (B, H, Nk, D)
                        const float* v,     // (B, H, Nk, D)
                        const float* p,     // (B, H, Nq, Nk), of the forward pass
                        const float* out,   // (B, H, Nq, D), of the forward pass
                        const float* dout,  // (B, H, Nq, D)
                        float* dq,          // (B, H, Nq, D)
                        float* dk,          // (B, H, Nk, D)
                        float* dv,          // (B, H, Nk, D)
                        const fa::Shape& shape, const fa::Options& options, fa::Scratch& scratch) {
  fa::validate(shape, options);
  fa::require_operand("q", q, fa::query_elements(shape));
  fa::require_operand("k", k, fa::key_elements(shape));
  fa::require_operand("v", v, fa::key_elements(shape));
  fa::require_operand("p", p, fa::score_elements(shape));
  fa::require_operand("out", out, fa::query_elements(shape));
  fa::require_operand("dout", dout, fa::query_elements(shape));
  fa::require_operand("dq", dq, fa::query_elements(shape));
  fa::require_operand("dk", dk, fa::key_elements(shape));
  fa::require_operand("dv", dv, fa::key_elements(shape));

  // TODO begin
  // Take dP, dS and delta from `scratch`, then call the functions above; delta from the outputs.
  fa::todo("Step 6: all together");
  // TODO end
}

}  // namespace lesson
