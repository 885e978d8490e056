// What the lessons' tests share, on top of Catch2: the comparison as an assertion, and the shapes, tiles and special
// inputs that every test tries.

#pragma once

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/compare.h"
#include "fa/grading.h"
#include "fa/inputs.h"
#include "fa/oracle.h"
#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Fails the test case, with one line that says where and by how much, unless `got` agrees with `expected`.
inline void check_close(std::string_view name, std::span<const float> got, std::span<const double> expected,
                        std::initializer_list<Extent> extents, Tolerance tolerance) {
  const Comparison comparison = compare(name, got, expected, extents, tolerance);
  if (comparison.ok) {
    SUCCEED();
  } else {
    FAIL_CHECK(comparison.message);
  }
}

// Fails the test case unless `call` throws std::invalid_argument with `text` in its message.
template <class Call>
void check_rejects(Call call, const std::string& text) {
  CHECK_THROWS_MATCHES(call(), std::invalid_argument,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(text)));
}

inline std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
  return stream << "B=" << shape.B << " H=" << shape.H << " Nq=" << shape.Nq << " Nk=" << shape.Nk << " D=" << shape.D;
}
inline std::ostream& operator<<(std::ostream& stream, const Options& options) {
  stream << (options.causal ? "causal" : "not causal");
  if (options.scale) stream << " scale=" << *options.scale;
  return stream;
}
inline std::ostream& operator<<(std::ostream& stream, const Tiles& tiles) {
  return stream << "Br=" << tiles.Br << " Bc=" << tiles.Bc;
}

// The slope of a straight line through (ln x, ln y): the exponent of a power law. Needs two or more points.
inline double log_log_slope(std::span<const double> x, std::span<const double> y) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0;
  for (std::size_t at = 0; at < x.size(); ++at) {
    mean_x += std::log(x[at]) / double(x.size());
    mean_y += std::log(y[at]) / double(x.size());
  }
  for (std::size_t at = 0; at < x.size(); ++at) {
    xx += (std::log(x[at]) - mean_x) * (std::log(x[at]) - mean_x);
    xy += (std::log(x[at]) - mean_x) * (std::log(y[at]) - mean_y);
  }
  return xy / xx;
}

// Ragged on purpose: no extent equals another, few are multiples of anything, and each of the shapes that broke
// attention elsewhere is here: one query, one key, one column, Nq ≠ Nk both ways, odd D, B ≠ H, no keys, no queries.
inline constexpr Shape ragged_shapes[] = {
    {.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 1},     {.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16},
    {.B = 1, .H = 1, .Nq = 3, .Nk = 3, .D = 2},     {.B = 1, .H = 1, .Nq = 7, .Nk = 7, .D = 5},
    {.B = 2, .H = 3, .Nq = 17, .Nk = 17, .D = 20},  {.B = 1, .H = 2, .Nq = 1, .Nk = 8, .D = 46},
    {.B = 2, .H = 1, .Nq = 63, .Nk = 65, .D = 63},  {.B = 1, .H = 3, .Nq = 65, .Nk = 31, .D = 8},
    {.B = 1, .H = 1, .Nq = 127, .Nk = 127, .D = 3}, {.B = 3, .H = 2, .Nq = 5, .Nk = 0, .D = 4},
    {.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 4},     {.B = 1, .H = 1, .Nq = 9, .Nk = 515, .D = 70},
};

// Both ways round, dividing nothing, smaller and larger than what they cut.
inline constexpr Tiles ragged_tiles[] = {{.Br = 1, .Bc = 1}, {.Br = 3, .Bc = 5},   {.Br = 5, .Bc = 3},
                                         {.Br = 8, .Bc = 8}, {.Br = 32, .Bc = 16}, {.Br = 200, .Bc = 300}};

// One NaN in the first head: in query 1, in key 5, in value 5. It must reach what depends on it, and nothing else.
inline std::vector<Inputs> inputs_with_nan(const Shape& shape) {
  Inputs in_query = make_inputs(shape), in_key = in_query, in_value = in_query;
  in_query.q.at(static_cast<std::size_t>(2 * shape.D - 1)) = nan;
  in_key.k.at(static_cast<std::size_t>(6 * shape.D - 1)) = nan;
  in_value.v.at(static_cast<std::size_t>(6 * shape.D - 1)) = nan;
  return {in_query, in_key, in_value};
}

// Scores of −inf in any place and alone, and of +inf. D = 1, so a score is a product of two numbers; the query −1
// changes the sign of every key.
inline constexpr Shape infinite_scores_shape{.Nq = 2, .Nk = 4, .D = 1};
inline std::vector<Inputs> inputs_with_infinite_scores() {
  std::vector<Inputs> result;
  for (const std::vector<float>& q : {std::vector<float>{1, 2}, {1, -1}}) {
    for (const std::vector<float>& k : {std::vector<float>{-infinity, 1, 2, 0},
                                        {0, 1, 2, -infinity},
                                        {-infinity, -infinity, 1, -infinity},
                                        {-infinity, -infinity, -infinity, -infinity},
                                        {infinity, 1, 2, 0},
                                        {0, 1, 2, infinity},
                                        {-infinity, infinity, 1, 2}}) {
      result.push_back({.q = q, .k = k, .v = {1, 3, 5, 2}, .dout = {}});
    }
  }
  return result;
}

}  // namespace fa
