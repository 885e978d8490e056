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
  // TODO begin
  // A score of −inf weighs 0 even if m is −inf too.
  fa::todo("Step 1: the weight of a score");
  // TODO end
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
  // TODO begin
  // Use weight(). Read each x[j] once and write each y[j] once: both are counted.
  fa::todo("Step 1: the last pass");
  // TODO end
}

}  // namespace

void safe_softmax(fa::hbm<const float> x,  // (N)
                  fa::hbm<float> y,        // (N)
                  fa::Index N) {
  validate_row(x, y, N);

  // TODO begin
  // A pass over x for the maximum m, a second one for the sum l; then write_softmax. Each reads every x[j] once.
  fa::todo("Step 1: safe softmax");
  // TODO end
}

void online_softmax(fa::hbm<const float> x,  // (N)
                    fa::hbm<float> y,        // (N)
                    fa::Index N) {
  validate_row(x, y, N);

  // TODO begin
  // A single pass over x for m and l, that reads every x[j] once; then write_softmax.
  fa::todo("Step 2: online softmax");
  // TODO end
}

SoftmaxState absorb(SoftmaxState state, std::span<const float> scores) {
  // TODO begin
  // The new maximum m'; then l moved from m to m'; then the terms of the tile, measured from m'.
  fa::todo("Step 3: absorb a tile");
  // TODO end
}

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  // TODO begin
  // The larger of the two maxima; then both sums, each moved from its own maximum to that one.
  fa::todo("Step 4: merge two states");
  // TODO end
}

AttentionState absorb(AttentionState state, std::span<const float> scores, std::span<const float> values) {
  if (scores.size() != values.size()) {
    throw std::invalid_argument("values has " + std::to_string(values.size()) +
                                " elements: must have as many as scores, " + std::to_string(scores.size()));
  }

  // TODO begin
  // Step 3 again, with u beside l: u is moved by the same factor, and its terms are weight times value.
  fa::todo("Step 5: absorb a tile, with values");
  // TODO end
}

AttentionState merge(AttentionState a, AttentionState b) {
  // TODO begin
  // Step 4 again, with u beside l.
  fa::todo("Step 5: merge two states, with values");
  // TODO end
}

float output(AttentionState state) {
  // TODO begin
  // u / l; 0 for the empty state.
  fa::todo("Step 6: the output");
  // TODO end
}

float log_sum_exp(AttentionState state) {
  // TODO begin
  // m + ln l, with the natural logarithm.
  fa::todo("Step 6: log-sum-exp");
  // TODO end
}

}  // namespace lesson
