// Standard attention, forward pass, on the CPU. Vaswani et al. 2017 (arXiv:1706.03762), section 3.2.1.
//
// The first lesson: each formula is a loop, and every intermediate result is kept, S and P too. All later lessons
// compute the same `out` without keeping them.

#include "attention_forward.h"

#include <cmath>
#include <limits>

namespace lesson {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

void attention_scores(const float* q,  // (B, H, Nq, D)
                      const float* k,  // (B, H, Nk, D)
                      float* s,        // (B, H, Nq, Nk)
                      const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;
  const float scale = fa::scale_of(shape, options);

  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; ++i) {
      const float* q_row = q + (head * Nq + i) * D;  // (D)
      float* s_row = s + (head * Nq + i) * Nk;       // (Nk)
      const fa::Index visible = fa::visible_keys(shape, options, i);

      // Step 1: S = scale · Q Kᵀ. Hidden keys must weigh nothing, so their score is −inf, not 0.
      for (fa::Index j = 0; j < visible; ++j) {
        const float* k_row = k + (head * Nk + j) * D;  // (D)
        float dot = 0.0f;
        for (fa::Index d = 0; d < D; ++d) dot += q_row[d] * k_row[d];
        s_row[j] = scale * dot;
      }
      for (fa::Index j = visible; j < Nk; ++j) s_row[j] = kNegativeInfinity;
    }
  }
}

void softmax_rows(const float* s,  // (rows, columns)
                  float* p,        // (rows, columns)
                  fa::Index rows, fa::Index columns) {
  for (fa::Index row = 0; row < rows; ++row) {
    const float* s_row = s + row * columns;
    float* p_row = p + row * columns;

    // Step 2: P = e^(S − m) / l. Without m, e^89 would already be inf.
    float m = kNegativeInfinity;
    for (fa::Index j = 0; j < columns; ++j) m = std::fmax(m, s_row[j]);

    // A score of −inf weighs 0 even if m is −inf too; −inf − −inf would be NaN.
    float l = 0.0f;
    for (fa::Index j = 0; j < columns; ++j) {
      p_row[j] = s_row[j] == kNegativeInfinity ? 0.0f : std::exp(s_row[j] - m);
      l += p_row[j];
    }

    // A row that sees no key has l = 0 and keeps its zeros; 0 / 0 would be NaN.
    if (l == 0.0f) continue;
    for (fa::Index j = 0; j < columns; ++j) p_row[j] /= l;
  }
}

void weighted_values(const float* p,  // (B, H, Nq, Nk)
                     const float* v,  // (B, H, Nk, D)
                     float* out,      // (B, H, Nq, D)
                     const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;

  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; ++i) {
      const float* p_row = p + (head * Nq + i) * Nk;  // (Nk)
      float* out_row = out + (head * Nq + i) * D;     // (D)
      const fa::Index visible = fa::visible_keys(shape, options, i);

      // Step 3: out = P V. Only visible keys: a hidden V row may hold a NaN, and 0 · NaN is NaN.
      for (fa::Index d = 0; d < D; ++d) out_row[d] = 0.0f;
      for (fa::Index j = 0; j < visible; ++j) {
        const float* v_row = v + (head * Nk + j) * D;  // (D)
        for (fa::Index d = 0; d < D; ++d) out_row[d] += p_row[j] * v_row[d];
      }
    }
  }
}

void attention_forward(const float* q,  // (B, H, Nq, D)
                       const float* k,  // (B, H, Nk, D)
                       const float* v,  // (B, H, Nk, D)
                       float* out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::Scratch& scratch) {
  fa::validate(shape, options);
  fa::require_operand("q", q, fa::query_elements(shape));
  fa::require_operand("k", k, fa::key_elements(shape));
  fa::require_operand("v", v, fa::key_elements(shape));
  fa::require_operand("out", out, fa::query_elements(shape));

  // Step 4: S and P, whole, for every head. This is the memory that grows as N².
  auto s = scratch.allocate<float>("S", fa::score_elements(shape));  // (B, H, Nq, Nk)
  auto p = scratch.allocate<float>("P", fa::score_elements(shape));  // (B, H, Nq, Nk)
  attention_scores(q, k, s.data(), shape, options);
  softmax_rows(s.data(), p.data(), fa::query_rows(shape), shape.Nk);
  weighted_values(p.data(), v, out, shape, options);
}

}  // namespace lesson
