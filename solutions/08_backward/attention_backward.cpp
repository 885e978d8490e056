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

  // Step 1: dv_j = Σ_i p_ij dout_i. Query by query: each adds to the keys that it sees. A hidden pair would add
  // 0 · dout, which is NaN if dout is.
  std::fill_n(dv, fa::key_elements(shape), 0.0f);
  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; ++i) {
      const float* p_row = p + (head * Nq + i) * Nk;       // (Nk)
      const float* dout_row = dout + (head * Nq + i) * D;  // (D)
      for (fa::Index j = 0; j < fa::visible_keys(shape, options, i); ++j) {
        float* dv_row = dv + (head * Nk + j) * D;  // (D)
        for (fa::Index d = 0; d < D; ++d) dv_row[d] += p_row[j] * dout_row[d];
      }
    }
  }
}

void weight_gradient(const float* dout,  // (B, H, Nq, D)
                     const float* v,     // (B, H, Nk, D)
                     float* dp,          // (B, H, Nq, Nk)
                     const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;

  // Step 2: dp_ij = dout_i · v_j, and 0 for a hidden pair, whatever its value holds.
  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; ++i) {
      const float* dout_row = dout + (head * Nq + i) * D;  // (D)
      float* dp_row = dp + (head * Nq + i) * Nk;           // (Nk)
      const fa::Index visible = fa::visible_keys(shape, options, i);
      for (fa::Index j = 0; j < visible; ++j) {
        const float* v_row = v + (head * Nk + j) * D;  // (D)
        float dot = 0.0f;
        for (fa::Index d = 0; d < D; ++d) dot += dout_row[d] * v_row[d];
        dp_row[j] = dot;
      }
      for (fa::Index j = visible; j < Nk; ++j) dp_row[j] = 0.0f;
    }
  }
}

void delta_from_weights(const float* p,   // (rows, columns)
                        const float* dp,  // (rows, columns)
                        float* delta,     // (rows)
                        fa::Index rows, fa::Index columns) {
  // Step 3a: rowsum(P ∘ dP), what the softmax's Jacobian asks for.
  for (fa::Index row = 0; row < rows; ++row) {
    float sum = 0.0f;
    for (fa::Index j = 0; j < columns; ++j) sum += p[row * columns + j] * dp[row * columns + j];
    delta[row] = sum;
  }
}

void delta_from_outputs(const float* dout,  // (rows, D)
                        const float* out,   // (rows, D)
                        float* delta,       // (rows)
                        fa::Index rows, fa::Index D) {
  // Step 3b: rowsum(dO ∘ O), the same number from D products a row.
  for (fa::Index row = 0; row < rows; ++row) {
    float sum = 0.0f;
    for (fa::Index d = 0; d < D; ++d) sum += dout[row * D + d] * out[row * D + d];
    delta[row] = sum;
  }
}

void score_gradient(const float* p,      // (rows, columns)
                    const float* dp,     // (rows, columns)
                    const float* delta,  // (rows)
                    float* ds,           // (rows, columns)
                    fa::Index rows, fa::Index columns) {
  // Step 4: dS = P ∘ (dP − delta). A row's dS sums to 0, as its P sums to 1 whatever the scores are.
  for (fa::Index row = 0; row < rows; ++row) {
    for (fa::Index j = 0; j < columns; ++j) {
      ds[row * columns + j] = p[row * columns + j] * (dp[row * columns + j] - delta[row]);
    }
  }
}

void query_key_gradients(const float* ds,  // (B, H, Nq, Nk)
                         const float* q,   // (B, H, Nq, D)
                         const float* k,   // (B, H, Nk, D)
                         float* dq,        // (B, H, Nq, D)
                         float* dk,        // (B, H, Nk, D)
                         const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;
  const float scale = fa::scale_of(shape, options);

  // Step 5: dq_i = scale Σ_j ds_ij k_j and dk_j = scale Σ_i ds_ij q_i, over the same pairs.
  std::fill_n(dq, fa::query_elements(shape), 0.0f);
  std::fill_n(dk, fa::key_elements(shape), 0.0f);
  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; ++i) {
      const float* ds_row = ds + (head * Nq + i) * Nk;  // (Nk)
      const float* q_row = q + (head * Nq + i) * D;     // (D)
      float* dq_row = dq + (head * Nq + i) * D;         // (D)
      for (fa::Index j = 0; j < fa::visible_keys(shape, options, i); ++j) {
        const float* k_row = k + (head * Nk + j) * D;  // (D)
        float* dk_row = dk + (head * Nk + j) * D;      // (D)
        for (fa::Index d = 0; d < D; ++d) {
          dq_row[d] += scale * ds_row[j] * k_row[d];
          dk_row[d] += scale * ds_row[j] * q_row[d];
        }
      }
    }
  }
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

  // Step 6: dP, delta and dS are working memory; dQ, dK and dV are what is asked for.
  const fa::Index rows = fa::query_rows(shape), columns = shape.Nk;
  auto dp = scratch.allocate<float>("dP", fa::score_elements(shape));
  auto ds = scratch.allocate<float>("dS", fa::score_elements(shape));
  auto delta = scratch.allocate<float>("delta", rows);
  value_gradient(p, dout, dv, shape, options);
  weight_gradient(dout, v, dp.data(), shape, options);
  delta_from_outputs(dout, out, delta.data(), rows, shape.D);
  score_gradient(p, dp.data(), delta.data(), ds.data(), rows, columns);
  query_key_gradients(ds.data(), q, k, dq, dk, shape, options);
}

}  // namespace lesson
