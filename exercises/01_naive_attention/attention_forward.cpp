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

  // TODO begin
  // For each head and query: scale times the dot product with each key it sees; −inf for each key hidden from it.
  fa::todo("Step 1: scores");
  // TODO end
}

void softmax_rows(const float* s,  // (rows, columns)
                  float* p,        // (rows, columns)
                  fa::Index rows, fa::Index columns) {
  // TODO begin
  // For each row: its maximum m; then e^(s − m) and their sum l; then the division by l.
  fa::todo("Step 2: softmax in three passes");
  // TODO end
}

void weighted_values(const float* p,  // (B, H, Nq, Nk)
                     const float* v,  // (B, H, Nk, D)
                     float* out,      // (B, H, Nq, D)
                     const fa::Shape& shape, const fa::Options& options) {
  const auto& [B, H, Nq, Nk, D] = shape;

  // TODO begin
  // For each head and query: the sum of the rows of V that it sees, each times its weight in P.
  fa::todo("Step 3: the weighted mean of the values");
  // TODO end
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

  // TODO begin
  // Take S and P from `scratch`, then call the three functions above.
  fa::todo("Step 4: the three together");
  // TODO end
}

}  // namespace lesson
