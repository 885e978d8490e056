// fa/half_accuracy.h: the yardstick for half precision, and what rounding may do.

#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "fa/half_accuracy.h"
#include "fa/testing.h"

namespace {

template <class T>
fa::Inputs inputs_in(const fa::Shape& shape, fa::InputKind kind = fa::InputKind::normal) {
  const fa::Inputs any = fa::make_inputs(shape, kind);
  const auto exact = [](const std::vector<float>& values) { return fa::widened<T>(fa::rounded<T>(values)); };
  return {.q = exact(any.q), .k = exact(any.k), .v = exact(any.v), .dout = {}};
}

template <class T>
float standard(const std::vector<float>& scores, const std::vector<float>& values) {
  const fa::Shape shape{.Nq = 1, .Nk = fa::Index(scores.size()), .D = 1};
  return fa::standard_attention_in_half<T>(std::vector{1.0f}, scores, values, shape, {}).at(0);
}

template <class Call>
void in_both_formats(Call call) {
  call.template operator()<fa::half>();
  call.template operator()<fa::bfloat16>();
}

}  // namespace

TEST_CASE("an error is the largest difference, and the root of the mean of the squares") {
  const fa::AbsoluteError error =
      fa::absolute_error(std::vector{1.0f, 2.0f, 7.0f, -1.0f}, std::vector{1.0, 5.0, 3.0, -1.0});
  CHECK(error.largest == 4.0);
  CHECK(error.root_mean_square == 2.5);
  CHECK(fa::absolute_error({}, {}).root_mean_square == 0.0);
}

TEST_CASE("a NaN is an error that is a NaN, and passes no bound") {
  for (const std::vector<float>& got : {std::vector{fa::nan, 1.0f}, {1.0f, fa::nan}, {1.0f, fa::poison()}}) {
    const fa::AbsoluteError error = fa::absolute_error(got, std::vector{1.0, 1.0});
    CHECK_FALSE(error.largest <= 1e30);
    CHECK_FALSE(error.root_mean_square <= 1e30);
  }
}

TEST_CASE("another number of elements is rejected") {
  CHECK_THROWS_AS(fa::absolute_error(std::vector{1.0f}, std::vector{1.0, 1.0}), std::invalid_argument);
  const fa::Shape shape{.Nq = 2, .Nk = 2, .D = 1};
  const std::vector<float> two{1, 2}, three{1, 2, 3};
  CHECK_THROWS_AS(fa::standard_attention_in_half<fa::half>(three, two, two, shape, {}), std::invalid_argument);
  CHECK_THROWS_AS(fa::standard_attention_in_half<fa::half>(two, three, two, shape, {}), std::invalid_argument);
  CHECK_THROWS_AS(fa::standard_attention_in_half<fa::half>(two, two, three, shape, {}), std::invalid_argument);
}

TEST_CASE("the yardstick rounds P and out, as worked by hand") {
  // The weights are 0.66524096, 0.24472847, 0.09003057.
  const float p_half = 0.66503906f + 3 * 0.24475098f + 5 * 0.09002686f;     // 1.8494263
  const float p_bfloat16 = 0.6640625f + 3 * 0.24511719f + 5 * 0.09033203f;  // 1.8510742
  CHECK(standard<fa::half>({2, 1, 0}, {1, 3, 5}) == float(fa::half(p_half)));
  CHECK(standard<fa::bfloat16>({2, 1, 0}, {1, 3, 5}) == float(fa::bfloat16(p_bfloat16)));
  CHECK(standard<fa::half>({2, 1, 0}, {1, 3, 5}) == 1.8496094f);
  CHECK(standard<fa::bfloat16>({2, 1, 0}, {1, 3, 5}) == 1.8515625f);
}

TEST_CASE("the yardstick rounds the scores, after scaling") {
  // 2049 · 1 lies between two numbers of fp16, 2048 and 2050, and is rounded to the even one.
  const std::vector<float> q{1, 1}, k{2048, 0, 2048, 1}, v{1, 0, 3, 0};
  const fa::Shape shape{.Nq = 1, .Nk = 2, .D = 2};
  CHECK(fa::standard_attention_in_half<fa::half>(q, k, v, shape, {.scale = 1.0f})[0] == 2.0f);
  // 3 · 2049 = 6147 becomes 6148, and 3 · 2048 stays 6144: 4 apart. Not rounded they are 3 apart, rounded first 0.
  const double expected = (3 + std::exp(-4.0)) / (1 + std::exp(-4.0));
  CHECK(std::abs(fa::standard_attention_in_half<fa::half>(q, k, v, shape, {.scale = 3.0f})[0] - expected) < 2e-3);
}

TEST_CASE("the yardstick is attention, within a few roundings, whatever the shape, causal or not") {
  in_both_formats([]<class T>() {
    for (const fa::Shape& shape : fa::ragged_shapes) {
      for (const bool causal : {false, true}) {
        CAPTURE(shape, causal);
        const fa::Options options{.causal = causal};
        const fa::Inputs in = inputs_in<T>(shape);
        const std::vector<double> exact = fa::attention_forward_oracle(in.q, in.k, in.v, shape, options).out;
        const std::vector<float> got = fa::standard_attention_in_half<T>(in.q, in.k, in.v, shape, options);
        // A rounded score s is wrong by u |s|, and so is its weight, relative to itself.
        CHECK(fa::absolute_error(got, exact).largest <= 24 * fa::unit_roundoff<T>);
        if (shape.Nk > 1 && shape.Nq > 1) CHECK(fa::absolute_error(got, exact).root_mean_square > 0.0);
      }
    }
  });
}

TEST_CASE("rows that see no key are 0") {
  const fa::Shape shape{.Nq = 3, .Nk = 1, .D = 2};
  const std::vector<float> six(6, 1.5f), two{1.5f, 2.5f};
  const std::vector<float> out = fa::standard_attention_in_half<fa::half>(six, two, two, shape, {.causal = true});
  CHECK(out == std::vector<float>{0, 0, 0, 0, 1.5f, 2.5f});
}

TEST_CASE("the tolerance takes the exact result, rounded, and neither zeros nor a shift of its size") {
  in_both_formats([]<class T>() {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = 33, .Nk = 47, .D = 16};
    const fa::Inputs in = inputs_in<T>(shape);
    const std::vector<double> exact = fa::attention_forward_oracle(in.q, in.k, in.v, shape, {}).out;
    const fa::Tolerance tolerance = fa::half_tolerance<T>(in.q, in.k, in.v, exact, shape, {});
    const auto passes = [&](double factor, double shift) {
      std::vector<float> got;
      for (const double x : exact) got.push_back(float(T(float(factor * x + shift))));
      return fa::compare("out", got, exact, {{"element", fa::Index(exact.size())}}, tolerance).ok;
    };
    CHECK(passes(1.0, 0.0));
    CHECK_FALSE(passes(0.0, 0.0));
    CHECK_FALSE(passes(1.0, 4 * tolerance.absolute));
    CHECK_FALSE(passes(1.2, 0.0));
    CHECK(tolerance.absolute > fa::unit_roundoff<T> / 2);
    CHECK(tolerance.absolute < 4 * fa::unit_roundoff<T>);
    CHECK(tolerance.relative == fa::unit_roundoff<T>);
  });
}

TEST_CASE("a NaN in a value does not widen the tolerance of the others") {
  const fa::Shape shape{.Nq = 5, .Nk = 5, .D = 4};
  fa::Inputs in = inputs_in<fa::half>(shape);
  const auto tolerance = [&] {
    const std::vector<double> exact = fa::attention_forward_oracle(in.q, in.k, in.v, shape, {}).out;
    return fa::half_tolerance<fa::half>(in.q, in.k, in.v, exact, shape, {});
  };
  const double before = tolerance().absolute;
  in.v[3] = fa::nan;
  CHECK(std::isfinite(tolerance().absolute));
  CHECK(tolerance().absolute <= before);
}
