// Online softmax on scalars. Milakov and Gimelshein 2018 (arXiv:1805.02867).
//
// Extends lesson 01: the maximum need not be known before the sum begins. When a larger score arrives, all that was
// summed so far is moved to the new reference point by one multiplication.

#include "online_softmax.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace lesson {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

// e^(score − m), for m ≥ score.
float weight(float score, float m) {
  // Step 1: a score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
  return score == kNegativeInfinity ? 0.0f : std::exp(score - m);
}

void validate_row(fa::hbm<const float> x, fa::hbm<float> y, fa::Index N) {
  if (N < 0) throw std::invalid_argument("N = " + std::to_string(N) + ": must be at least 0");
  if (x.size() < N) {
    throw std::invalid_argument("x has " + std::to_string(x.size()) + " elements: must have N = " + std::to_string(N));
  }
  if (y.size() < N) {
    throw std::invalid_argument("y has " + std::to_string(y.size()) + " elements: must have N = " + std::to_string(N));
  }
}

// The last pass of both: y = e^(x − m) / l. Without a score above −inf, y is 0.
void write_softmax(fa::hbm<const float> x, fa::hbm<float> y, fa::Index N, SoftmaxState state) {
  // Step 1: one division an element. Without a score above −inf, l is 0, and 0 / 0 would be NaN.
  for (fa::Index j = 0; j < N; ++j) {
    const float w = weight(x[j], state.m);
    y[j] = state.l == 0.0f ? 0.0f : w / state.l;
  }
}

}  // namespace

void safe_softmax(fa::hbm<const float> x,  // (N)
                  fa::hbm<float> y,        // (N)
                  fa::Index N) {
  validate_row(x, y, N);

  // Step 1: the maximum, then the sum, then the division. Each pass reads the scores again.
  SoftmaxState state;
  for (fa::Index j = 0; j < N; ++j) state.m = std::fmax(state.m, x[j]);
  for (fa::Index j = 0; j < N; ++j) state.l += weight(x[j], state.m);
  write_softmax(x, y, N, state);
}

void online_softmax(fa::hbm<const float> x,  // (N)
                    fa::hbm<float> y,        // (N)
                    fa::Index N) {
  validate_row(x, y, N);

  // Step 2: maximum and sum in one pass. When the maximum moves, l moves with it: l e^(m − m').
  SoftmaxState state;
  for (fa::Index j = 0; j < N; ++j) {
    const float score = x[j];  // one read, used twice
    const float m_new = std::fmax(state.m, score);
    state.l = weight(state.m, m_new) * state.l + weight(score, m_new);
    state.m = m_new;
  }
  write_softmax(x, y, N, state);
}

SoftmaxState absorb(SoftmaxState state, std::span<const float> scores) {
  // Step 3: first the new maximum, then one rescaling for the whole tile, then its terms.
  float m_new = state.m;
  for (const float score : scores) m_new = std::fmax(m_new, score);

  float l_new = weight(state.m, m_new) * state.l;
  for (const float score : scores) l_new += weight(score, m_new);
  return {m_new, l_new};
}

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  // Step 4: both sums move to the larger of the two maxima. One of the factors is 1.
  const float m = std::fmax(a.m, b.m);
  return {m, weight(a.m, m) * a.l + weight(b.m, m) * b.l};
}

AttentionState absorb(AttentionState state, std::span<const float> scores, std::span<const float> values) {
  if (scores.size() != values.size()) {
    throw std::invalid_argument("values has " + std::to_string(values.size()) +
                                " elements: must have as many as scores, " + std::to_string(scores.size()));
  }

  // Step 5: u moves exactly as l does, since both are sums of e^(x − m) times something that does not depend on m.
  float m_new = state.m;
  for (const float score : scores) m_new = std::fmax(m_new, score);

  const float rescale = weight(state.m, m_new);
  float l_new = rescale * state.l;
  float u_new = rescale * state.u;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const float w = weight(scores[j], m_new);
    l_new += w;
    u_new += w * values[j];
  }
  return {m_new, l_new, u_new};
}

AttentionState merge(AttentionState a, AttentionState b) {
  // Step 5: Step 4, for two sums.
  const float m = std::fmax(a.m, b.m);
  const float a_weight = weight(a.m, m), b_weight = weight(b.m, m);
  return {m, a_weight * a.l + b_weight * b.l, a_weight * a.u + b_weight * b.u};
}

float output(AttentionState state) {
  // Step 6: one division, at the end. The empty state has u = 0 already; 0 / 0 would be NaN.
  return state.l == 0.0f ? state.u : state.u / state.l;
}

float log_sum_exp(AttentionState state) {
  // Step 6: ln (l e^m), without forming e^m, which overflows from m = 89 on. Of the empty state: −inf + ln 0 = −inf.
  return state.m + std::log(state.l);
}

}  // namespace lesson
