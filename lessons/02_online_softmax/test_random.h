// Lesson 02 in random cases: see fa/property.h.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "fa/property.h"
#include "test_support.h"

namespace support {

// A row of Nk scores, some of them −inf and some rows NaN: that is what a scale of 0 or below makes of −inf.
struct RandomRow {
  Row scores, values;
  std::vector<double> state;  // m, l, u; m is NaN where it is left open

  explicit RandomRow(const fa::RandomCase& one) : scores(one.inputs().k), values(one.inputs().v) {
    for (float& score : scores) score *= one.options.scale.value_or(1.0f);
    state = exact_state(scores, values);
    const bool bad = std::ranges::any_of(scores, [](float x) { return std::isnan(x) || x == fa::infinity; });
    if (bad) state.assign(3, double(fa::nan));
  }
};

inline std::string state_fault(const std::string& what, AttentionState got, const std::vector<double>& expected) {
  const bool open = std::isnan(expected[0]);
  const fa::Tolerance tolerance{.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-5};
  const fa::Comparison comparison =
      fa::compare("(m, l, u) of " + what, std::array{open ? fa::nan : got.m, got.l, got.u}, expected,
                  {{"component", 3}}, tolerance);
  return comparison.ok ? "" : comparison.message;
}

inline std::string softmax_fault(const std::string& name, Softmax softmax, const RandomRow& row) {
  std::vector<double> expected;
  for (const float score : row.scores) {
    const double weight = score == -fa::infinity ? 0.0 : std::exp(double(score) - row.state[0]);
    expected.push_back(row.state[1] == 0.0 ? 0.0 : weight / row.state[1]);
  }
  const fa::Comparison comparison =
      fa::compare(name, run(softmax, row.scores), expected, {{"j", fa::Index(expected.size())}},
                  {.absolute = 1e-5, .relative = 1e-4, .normwise = 1e-4});
  return comparison.ok ? "" : comparison.message;
}

// In tiles of Bc keys: absorbed one after another, and each by itself and then merged.
inline std::string tiles_fault(const fa::RandomCase& one, const RandomRow& row) {
  AttentionState absorbed, merged;
  SoftmaxState without_values, merged_without_values;
  const auto Bc = std::size_t(one.tiles.Bc);
  for (std::size_t first = 0; first < row.scores.size(); first += Bc) {
    const std::size_t count = std::min(Bc, row.scores.size() - first);
    const Part scores = Part(row.scores).subspan(first, count), values = Part(row.values).subspan(first, count);
    absorbed = lesson::absorb(absorbed, scores, values);
    merged = lesson::merge(merged, state_of(scores, values));
    without_values = lesson::absorb(without_values, scores);
    merged_without_values = lesson::merge(merged_without_values, lesson::absorb(SoftmaxState{}, scores));
  }
  // Without values, u has nothing to be compared with: the exact one stands in its place.
  const float u = float(row.state[2]);
  std::string fault = state_fault("all tiles, absorbed", absorbed, row.state);
  if (fault.empty()) fault = state_fault("all tiles, merged", merged, row.state);
  if (fault.empty())
    fault = state_fault("all tiles, absorbed without values", {without_values.m, without_values.l, u}, row.state);
  if (fault.empty())
    fault = state_fault("all tiles, merged without values", {merged_without_values.m, merged_without_values.l, u},
                        row.state);
  return fault;
}

inline std::string output_fault(const RandomRow& row) {
  const AttentionState state = state_of(row.scores, row.values);
  const bool empty = row.state[1] == 0.0;
  const std::array got{lesson::output(state), lesson::log_sum_exp(state)};
  const std::vector<double> expected{empty ? 0.0 : row.state[2] / row.state[1], row.state[0] + std::log(row.state[1])};
  const fa::Comparison comparison = fa::compare("(output, log_sum_exp)", got, expected, {{"component", 2}},
                                                {.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-5});
  return comparison.ok ? "" : comparison.message;
}

inline void check_random() {
  const fa::CaseSpace space{.B = {}, .H = {}, .Nq = {}, .D = {}, .Bc = {1, 9}};
  fa::check_random_cases(space, 20000, [](const fa::RandomCase& one) {
    const RandomRow row(one);
    std::string fault = tiles_fault(one, row);
    if (fault.empty()) fault = output_fault(row);
    if (fault.empty()) fault = softmax_fault("safe_softmax", lesson::safe_softmax, row);
    if (fault.empty()) fault = softmax_fault("online_softmax", lesson::online_softmax, row);
    return fault;
  });
}

}  // namespace support
