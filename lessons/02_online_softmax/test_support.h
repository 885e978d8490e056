// What the tests of lesson 02 share: the exact values, and comparisons whose messages show a state whole.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "fa/testing.h"
#include "online_softmax.h"

namespace support {

using lesson::AttentionState;
using lesson::SoftmaxState;
using Row = std::vector<float>;
using Part = std::span<const float>;
using Softmax = void (*)(fa::hbm<const float>, fa::hbm<float>, fa::Index);

inline const fa::Tolerance kTight{.absolute = 1e-6, .relative = 2e-6, .normwise = 2e-6};

// The row of the worked example, as two tiles.
inline const Row kHigh{2, 1}, kHighValues{1, 3}, kLow{0}, kLowValue{5};
// What is used where the worked example would be too tame: a negative score, a maximum that comes twice and then moves.
inline const Row kScores{0.3f, -1.7f, 2.9f, 0.0f, 2.9f, -8.0f, 4.1f};
inline const Row kValues{1.0f, -2.0f, 0.5f, 7.0f, 3.0f, -4.0f, 2.5f};

// "2, 1.503215", cut off after eight values.
inline std::string list(const auto& values) {
  std::ostringstream text;
  text << std::setprecision(7);
  for (std::size_t at = 0; at < std::min<std::size_t>(values.size(), 8); ++at) {
    const double value = double(values[at]);
    text << (at == 0 ? "" : ", ") << (std::isnan(value) ? std::abs(value) : value);  // nan, never -nan
  }
  text << (values.size() > 8 ? ", ..." : "");
  return text.str();
}

// What m, l, u must be after these scores, from their definitions, in double.
inline std::vector<double> exact_state(Part scores, Part values) {
  double m = fa::negative_infinity, l = 0.0, u = 0.0;
  for (const float score : scores) m = std::max(m, double(score));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = scores[j] == -fa::infinity ? 0.0 : std::exp(double(scores[j]) - m);
    l += weight;
    u += weight * double(values[j]);
  }
  return {m, l, u};
}

// Fails with both states whole: which of m, l, u is wrong tells which rule was broken.
inline bool check_state(Part got, const std::vector<double>& expected, const std::string& after,
                        const fa::Tolerance& tolerance = kTight) {
  const std::string name = std::string(expected.size() == 2 ? "(m, l)" : "(m, l, u)") + after;
  const bool ok = fa::compare(name, got, expected, {{"", fa::Index(expected.size())}}, tolerance).ok;
  if (ok) {
    SUCCEED();
  } else {
    FAIL_CHECK(name << ": expected (" << list(expected) << "), got (" << list(got) << ")");
  }
  return ok;
}
inline bool check_state(SoftmaxState got, const std::vector<double>& expected, const std::string& after = "") {
  return check_state(std::array{got.m, got.l}, expected, after);
}
inline bool check_state(AttentionState got, const std::vector<double>& expected, const std::string& after = "",
                        const fa::Tolerance& tolerance = kTight) {
  return check_state(std::array{got.m, got.l, got.u}, expected, after, tolerance);
}

inline void check_value(const char* name, float got, double expected, fa::Tolerance tolerance = kTight) {
  if (fa::compare(name, std::array{got}, std::array{expected}, {{"", 1}}, tolerance).ok) {
    SUCCEED();
  } else {
    FAIL_CHECK(name << ": expected " << list(std::array{expected}) << ", got " << list(std::array{got}));
  }
}
inline void check_nan(const char* name, float got) { check_value(name, got, double(fa::nan)); }

inline Row run(Softmax softmax, const Row& x) {
  fa::TrafficMeter meter;
  Row y = fa::poisoned(fa::Index(x.size()));
  softmax(meter.buffer("x", x), meter.buffer("y", y), fa::Index(x.size()));
  return y;
}

inline void check_softmax(Softmax softmax, const std::vector<Row>& rows) {
  for (const Row& x : rows) {
    const std::vector<double> state = exact_state(x, x);
    std::vector<double> expected;
    for (const float score : x) {
      const double weight = score == -fa::infinity ? 0.0 : std::exp(double(score) - state[0]);
      expected.push_back(state[1] == 0.0 ? 0.0 : weight / state[1]);
    }
    INFO("x = (" << list(x) << ")");
    fa::check_close("y", run(softmax, x), expected, {{"j", fa::Index(x.size())}}, kTight);
  }
}

// Both orders; many; all far below zero; differences far above 88; equal; −inf in any place; nothing that weighs.
inline const std::vector<Row> kRowsOfAnySize{
    {2, 1, 0},
    {0, 1, 2},
    fa::normal_values(127, 4),
    fa::normal_values(1000, 4),
    {-5e4f, -5e4f - 1, -6e4f},
    {-1e4f, 1e4f, 0, 9999.5f},
    {-3, -3, -3, -3, -3},
    {0, -fa::infinity, 1},
    {-fa::infinity, -fa::infinity, 4},
    {-fa::infinity, -fa::infinity},
    {},
    {-3e38f, -2e38f},
};
inline const std::vector<Row> kRowsWithNaN{
    {0, fa::nan, 1}, {fa::nan, 0, 1}, {0, 1, fa::nan}, {fa::nan}, {0, fa::infinity, 1}};

inline void check_accesses(Softmax softmax, fa::Index reads_an_element) {
  for (const fa::Index N : {17, 1, 2, 1000}) {
    fa::TrafficMeter meter;
    const Row x = fa::normal_values(N, 3);
    Row y = fa::poisoned(N);
    softmax(meter.buffer("x", x), meter.buffer("y", y), N);
    const fa::Index x_reads = meter.of("x").read_bytes / 4, y_reads = meter.of("y").read_bytes / 4;
    const fa::Index y_writes = meter.of("y").written_bytes / 4;
    if (x_reads == reads_an_element * N && y_reads == 0 && y_writes == N) {
      SUCCEED();
    } else {
      FAIL_CHECK("N = " << N << ": expected " << reads_an_element * N << " reads of x, 0 reads and " << N
                        << " writes of y, got " << x_reads << ", " << y_reads << " and " << y_writes);
    }
  }
}

inline AttentionState state_of(Part scores, Part values) { return lesson::absorb(AttentionState{}, scores, values); }

// Absorbs kScores in tiles of the given sizes and checks the invariant after each of them.
inline void check_tiles(const std::vector<std::size_t>& sizes) {
  AttentionState state;
  std::size_t seen = 0;
  for (const std::size_t size : sizes) {
    state = lesson::absorb(state, Part(kScores).subspan(seen, size), Part(kValues).subspan(seen, size));
    seen += size;
    INFO("after the tile of " << size << " that ends at key " << seen << " of " << list(kScores));
    if (!check_state(state, exact_state(Part(kScores).first(seen), Part(kValues).first(seen)))) return;
  }
}

}  // namespace support
