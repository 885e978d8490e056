// fa/compare.h, compare: it cannot be fooled in the ways in which comparisons elsewhere were.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fa/compare.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr fa::Tolerance kExact{};
constexpr fa::Tolerance kAnything{.absolute = 1e300, .relative = 1e300, .normwise = 1e300};
constexpr fa::Tolerance kUnlimited{.absolute = double(kInfinity), .relative = 1.0, .normwise = double(kInfinity)};

fa::Comparison compare(const std::vector<float>& got, const std::vector<double>& expected, fa::Tolerance tolerance) {
  return fa::compare("x", got, expected, {{"at", fa::Index(expected.size())}}, tolerance);
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace

// ---- What must not pass

TEST_CASE("a NaN never passes for a number, whatever the tolerance and wherever it stands") {
  const std::vector<double> expected = doubles(fa::normal_values(50, 1));
  for (std::size_t at = 0; at < expected.size(); ++at) {
    std::vector<float> got(expected.begin(), expected.end());
    got[at] = kNaN;
    for (const fa::Tolerance& tolerance : {kExact, kAnything, kUnlimited}) {
      const fa::Comparison result = compare(got, expected, tolerance);
      CHECK_FALSE(result.ok);
      CHECK(result.failed == 1);
      CHECK(result.worst == fa::Index(at));
      CHECK(result.unwritten == 0);
    }
  }
}

TEST_CASE("a NaN does not hide the errors beside it") {
  const fa::Comparison result = compare({kNaN, 1.5f, kNaN}, {1, 1, 1}, kAnything);
  CHECK(result.max_absolute_error == 0.5);  // fmax(NaN, 0) is 0: the largest error must not start from there
  CHECK(result.failed == 2);
  CHECK(compare({1.5f, kNaN}, {1, 1}, {.absolute = 0.1}).failed == 2);
}

TEST_CASE("an infinity never passes for a number, nor for the other infinity, nor a number for it") {
  CHECK(compare({kInfinity, 2}, {1e39, 2}, kAnything).failed == 1);  // float overflowed, double did not
  CHECK(compare({-kInfinity, 2}, {double(kInfinity), 2}, kAnything).failed == 1);
  CHECK(compare({3e38f, 2}, {double(kInfinity), 2}, kAnything).failed == 1);
  CHECK(compare({kNaN, 2}, {double(kInfinity), 2}, kAnything).failed == 1);
  CHECK_FALSE(compare({kInfinity, 2}, {1, 2}, kUnlimited).ok);
}

TEST_CASE("an expected infinity or NaN must be met exactly, and then passes") {
  const double inf = double(kInfinity), nan = double(kNaN);
  const fa::Comparison result = compare({kInfinity, -kInfinity, kNaN, 2}, {inf, -inf, nan, 2}, kExact);
  CHECK(result.ok);
  CHECK(result.failed == 0);
  CHECK(result.worst == -1);
  CHECK(compare({-kNaN}, {nan}, kExact).ok);
  CHECK(compare({0, 2}, {nan, 2}, kAnything).failed == 1);
  CHECK(compare({kInfinity, 2}, {nan, 2}, kAnything).failed == 1);
  CHECK_FALSE(compare({0, 2}, {nan, 2}, kAnything).ok);
}

TEST_CASE("an output of zeros does not pass, though every element is within an absolute tolerance") {
  std::vector<double> expected = doubles(fa::normal_values(100, 2));
  for (double& value : expected) value *= 1e-4;
  const fa::Comparison result =
      compare(std::vector<float>(100, 0.0f), expected, {.absolute = 1e-3, .relative = 0, .normwise = 0.5});
  CHECK(result.failed == 0);
  CHECK(std::abs(result.normwise_error - 1.0) < 1e-12);
  CHECK_FALSE(result.ok);
}

TEST_CASE("many errors that pass one by one do not pass together") {
  const std::vector<double> expected(64, 1.0);
  std::vector<float> got(64, 1.0f);
  for (float& value : got) value += 0.0078125f;  // 2⁻⁷
  CHECK_FALSE(compare(got, expected, {.absolute = 0.01, .relative = 0, .normwise = 0.0078124}).ok);
  CHECK(compare(got, expected, {.absolute = 0.01, .relative = 0, .normwise = 0.0078126}).ok);
}

TEST_CASE("where every element is expected to be zero there is no whole to compare with, and the elements decide") {
  const fa::Tolerance tolerance{.absolute = 1e-6, .relative = 0, .normwise = 1e-6};
  CHECK(compare({1e-7f, -1e-7f}, {0, 0}, tolerance).ok);
  CHECK_FALSE(compare({1e-7f, -1e-7f}, {0, 1e-9}, tolerance).ok);
  const fa::Comparison result = compare({0, 0.5f}, {0, 0}, tolerance);
  CHECK_FALSE(result.ok);
  CHECK(result.message == "x[at=1]: expected 0, got 0.5 (1 of 2 values differ)");
}

TEST_CASE("an element that nobody wrote does not pass, not even for a NaN, and is counted apart") {
  const fa::Comparison result =
      compare({1, fa::poison(), kNaN, fa::poison()}, {1, 2, double(kNaN), double(kNaN)}, kUnlimited);
  CHECK_FALSE(result.ok);
  CHECK(result.failed == 2);
  CHECK(result.unwritten == 2);
  CHECK(result.worst == 1);
  CHECK_THAT(result.message, ContainsSubstring("x[at=1]: expected 2, got poison (2 of 4 values differ, 2 hold poison"));
}

TEST_CASE("a NaN that was computed is not taken for one that was never written") {
  const fa::Comparison result = compare({1, kNaN}, {1, 2}, kAnything);
  CHECK(result.unwritten == 0);
  CHECK_THAT(result.message, ContainsSubstring("x[at=1]: expected 2, got nan (1 of 2 values differ)"));
}

TEST_CASE("swapped indices do not pass: batch and head, query and column, two of anything") {
  const fa::Shape shape{.B = 3, .H = 3, .Nq = 5, .Nk = 6, .D = 5};
  for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::outliers, fa::InputKind::large_logits}) {
    const fa::Inputs inputs = fa::make_inputs(shape, kind);
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
    const std::vector<float> right(oracle.out.begin(), oracle.out.end());
    const auto passes =
        [&](const auto& place_of) {  // element (b, h, i, d) of the result stands at place_of(b, h, i, d)
          std::vector<float> got(right.size());
          for (int at = 0; at < 225; ++at)
            got[std::size_t(place_of(at / 75, at / 25 % 3, at / 5 % 5, at % 5))] = right[std::size_t(at)];
          return compare(got, oracle.out, fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, {}))
              .ok;
        };
    INFO("inputs: " << fa::name_of(kind));
    CHECK(passes([](int b, int h, int i, int d) { return ((b * 3 + h) * 5 + i) * 5 + d; }));
    CHECK_FALSE(passes([](int b, int h, int i, int d) { return ((h * 3 + b) * 5 + i) * 5 + d; }));
    CHECK_FALSE(passes([](int b, int h, int i, int d) { return ((b * 3 + h) * 5 + d) * 5 + i; }));
    CHECK_FALSE(passes([](int b, int h, int i, int d) { return ((b * 3 + h) * 5 + (i + 1) % 5) * 5 + d; }));
    CHECK_FALSE(passes([](int b, int h, int i, int d) { return ((b * 3 + h) * 5 + i) * 5 + (d + 1) % 5; }));
    CHECK_FALSE(passes([](int b, int h, int i, int d) { return (((b + 1) % 3 * 3 + h) * 5 + i) * 5 + d; }));
  }
}

// ---- What is compared

TEST_CASE("every element is compared: an error in any one of them alone is found, and placed") {
  const std::vector<double> expected = doubles(fa::normal_values(2 * 3 * 4, 3));
  for (std::size_t at = 0; at < expected.size(); ++at) {
    std::vector<float> got(expected.begin(), expected.end());
    got[at] += 1.0f;
    const fa::Comparison result = fa::compare("out", got, expected, {{"b", 2}, {"i", 3}, {"d", 4}}, {.absolute = 0.5});
    CHECK_FALSE(result.ok);
    CHECK(result.compared == 24);
    CHECK(result.failed == 1);
    CHECK(result.worst == fa::Index(at));
    const std::string place = "out[b=" + std::to_string(at / 12) + ", i=" + std::to_string(at / 4 % 3) +
                              ", d=" + std::to_string(at % 4) + "]: expected ";
    CHECK_THAT(result.message, Catch::Matchers::StartsWith(place));
  }
}

TEST_CASE("a result of another size does not pass, and nothing of it is compared") {
  for (const std::vector<float>& got : {std::vector<float>{}, {1}, {1, 2, 3}}) {
    const fa::Comparison result = compare(got, {1, 2}, kUnlimited);
    CHECK_FALSE(result.ok);
    CHECK(result.compared == 0);
    CHECK(result.message == "x has " + std::to_string(got.size()) + " elements, expected 2");
  }
}

TEST_CASE("an expectation that does not fit the extents is an error of the test") {
  const std::vector<float> got(6);
  const std::vector<double> expected(6);
  CHECK_NOTHROW(fa::compare("out", got, expected, {{"i", 2}, {"d", 3}}, kExact));
  CHECK_THROWS_AS(fa::compare("out", got, expected, {{"i", 2}, {"d", 4}}, kExact), std::invalid_argument);
  CHECK_THROWS_WITH(fa::compare("out", got, expected, {{"i", 2}, {"d", 2}}, kExact),
                    ContainsSubstring("expected has 6 elements: the extents of out say 4"));
}

TEST_CASE("an empty result agrees with an empty expectation") {
  const fa::Comparison result = fa::compare("out", {}, {}, {{"i", 0}, {"d", 3}}, kExact);
  CHECK(result.ok);
  CHECK(result.compared == 0);
}

// ---- What is allowed, and what is said

TEST_CASE("an element may be off by the absolute tolerance plus the relative one times what is expected") {
  const fa::Tolerance tolerance{.absolute = 0.5, .relative = 0.25, .normwise = 10};
  CHECK(compare({5.5f, -2.5f}, {4, -4}, tolerance).failed == 0);  // 0.5 + 0.25 · 4 = 1.5 either way
  CHECK(compare({5.625f, 4}, {4, 4}, tolerance).failed == 1);
  CHECK(compare({2.375f, 4}, {4, 4}, tolerance).failed == 1);
  CHECK(compare({0.5f, 0.625f}, {0, 0}, tolerance).failed == 1);
}

TEST_CASE("a tolerance that is left out allows nothing") {
  CHECK(compare({1, -0.0f}, {1, 0}, kExact).ok);
  CHECK_FALSE(compare({1, 1e-30f}, {1, 0}, kExact).ok);
  CHECK_FALSE(compare({1, 2.5f}, {1, 2}, {.absolute = 1, .relative = 1}).ok);  // no norm-wise error is allowed
  CHECK_FALSE(compare({1, 2.5f}, {1, 2}, {.absolute = double(kNaN), .relative = 0, .normwise = 1}).ok);
}

TEST_CASE("the errors that are reported are the largest ones, and that of the whole") {
  const fa::Comparison result = compare({3, 4.5f, 0.25f, -8}, {3, 4, 0, -9}, kAnything);
  CHECK(result.ok);
  CHECK(result.max_absolute_error == 1.0);
  CHECK(result.max_relative_error == 0.125);  // 0.5 / 4; that of an expected zero is left out
  CHECK(std::abs(result.normwise_error - std::sqrt((0.25 + 0.0625 + 1.0) / (9.0 + 16.0 + 81.0))) < 1e-15);
}

TEST_CASE("the worst place is where the error is largest in units of what is allowed") {
  const fa::Comparison result = compare({1001, 1.25f, 10.5f}, {1000, 1, 10}, {.absolute = 0, .relative = 1e-3});
  CHECK(result.worst == 1);
  CHECK(result.failed == 2);
}

TEST_CASE("the message gives the place, both values, how many differ and the error of the whole") {
  const std::vector<double> expected{0, 1, 2, 0.25, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<float> got(expected.begin(), expected.end());
  got[3] = 0.5f;
  got[11] = 11.125f;
  const fa::Comparison result =
      fa::compare("out", got, expected, {{"b", 1}, {"h", 2}, {"i", 2}, {"d", 3}}, {.absolute = 1e-3, .normwise = 1e-5});
  CHECK(
      result.message ==
      "out[b=0, h=0, i=1, d=0]: expected 0.25, got 0.5 (2 of 12 values differ; norm-wise error 0.0125, allowed 1e-05)");
  CHECK(compare({1, 2}, {1, 2}, kExact).message == "x: all 2 values agree exactly");
}

TEST_CASE("two values that differ are never printed alike") {
  const float value = 0.2512346f;
  CHECK_THAT(compare({std::nextafter(value, 1.0f)}, {double(value)}, kExact).message,
             ContainsSubstring("expected 0.251234591, got 0.251234621"));
}
