// Lesson 02: softmax whose maximum and sum take one pass, on scalars. The contract of
// exercises/02_online_softmax/online_softmax.cpp.
//
// For scores x_1 ... x_N:   y_j = e^(x_j − m) / l,   m = max_j x_j,   l = Σ_j e^(x_j − m).
//
// Source: Milakov and Gimelshein 2018 (arXiv:1805.02867), algorithms 2 and 3, and section 3.1 for the merge;
// Dao et al. 2022 (arXiv:2205.14135), section 3.1, for the values.
//
// Promises:
//   - A score of −inf weighs 0. No scores, or only such, is the empty state m = −inf, l = 0, u = 0: y = 0, output 0,
//     lse −inf.
//   - A NaN or a score of +inf makes l NaN, and all that follows from it, through every later absorb and merge; never a
//     plausible number. What m is then is left open.
//   - Scores of any size are right: no e^x of a positive x is ever formed.
//
// Rejects with std::invalid_argument, before anything is written: N < 0; x or y of fewer than N elements; scores and
// values of different lengths.

#pragma once

#include <limits>
#include <span>

#include "fa/hbm.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. Safe softmax: maximum, sum, division, a pass over the scores for each. Keeps nothing but m and l between the
// passes, so HBM sees 3 reads and 1 write an element.
void safe_softmax(fa::hbm<const float> x,  // (N)
                  fa::hbm<float> y,        // (N)
                  fa::Index N);

// Step 2. Online softmax: maximum and sum in the same pass. 2 reads and 1 write an element.
void online_softmax(fa::hbm<const float> x,  // (N)
                    fa::hbm<float> y,        // (N)
                    fa::Index N);

// What we know of a row after some of its scores: m, their maximum, and l = Σ e^(x − m). The default is the empty
// state.
// [softmax-state]
struct SoftmaxState {
  float m = -std::numeric_limits<float>::infinity();
  float l = 0.0f;
};
// [/softmax-state]

// Step 3. The state after a further tile of scores, in any number.
SoftmaxState absorb(SoftmaxState state, std::span<const float> scores);

// Step 4. The state of two disjoint sets of scores, from the states of each.
SoftmaxState merge(SoftmaxState a, SoftmaxState b);

// The same with a value v_j beside each score: u = Σ e^(x − m) v. The output of the row is u / l = Σ y_j v_j.
// [attention-state]
struct AttentionState {
  float m = -std::numeric_limits<float>::infinity();
  float l = 0.0f;
  float u = 0.0f;
};
// [/attention-state]

// Step 5. Absorb and merge, with values.
AttentionState absorb(AttentionState state, std::span<const float> scores, std::span<const float> values);
AttentionState merge(AttentionState a, AttentionState b);

// Step 6. What the state is for: the output u / l, and lse = m + ln l = ln Σ e^x.
float output(AttentionState state);
float log_sum_exp(AttentionState state);

}  // namespace lesson
