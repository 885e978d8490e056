// What the lessons' tests share, on top of Catch2: the comparison as an assertion, and the shapes that every test
// tries.

#pragma once

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string_view>

#include "fa/compare.h"
#include "fa/inputs.h"
#include "fa/oracle.h"
#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {

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
    {.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 4},
};

}  // namespace fa
