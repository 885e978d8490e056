// fa/compare.h, forward_tolerance with the unit roundoff of half precision: what standard attention in that format
// rounds passes, and no more than that.

#include <iterator>
#include <vector>

#include "fa/compare.h"
#include "fa/half_accuracy.h"
#include "fa/testing.h"
#include "tolerance_support.h"

namespace {

template <fa::HalfPrecision T>
struct Problem {
  fa::Shape shape;
  fa::Options options;
  fa::Inputs inputs;
  std::vector<float> out;
  std::vector<double> exact;

  Problem(const fa::Shape& given, bool causal)
      : shape(given), options{.causal = causal}, inputs(fa::make_inputs(given)) {
    for (std::vector<float>* values : {&inputs.q, &inputs.k, &inputs.v}) {
      *values = fa::widened<T>(fa::rounded<T>(*values));
    }
    out = fa::standard_attention_in_half<T>(inputs.q, inputs.k, inputs.v, shape, options);
    exact = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options).out;
  }
  bool passes(double unit) const {
    const fa::Tolerance tolerance = fa::forward_tolerance(inputs.q, inputs.k, inputs.v, exact, shape, options, unit);
    return fa::compare("out", out, exact, {{"element", fa::query_elements(shape)}}, tolerance).ok;
  }
};

template <fa::HalfPrecision T>
void check_honest_rounding() {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) {
      CAPTURE(shape, causal);
      CHECK(Problem<T>(shape, causal).passes(fa::unit_roundoff<T>));
    }
  }
}

}  // namespace

TEST_CASE("what standard attention in half precision rounds, passes") {
  check_honest_rounding<fa::half>();
  check_honest_rounding<fa::bfloat16>();
}

TEST_CASE("what half precision rounds does not pass for float, nor bf16 for fp16") {
  for (const fa::Shape& shape : support::shapes) {
    CAPTURE(shape);
    CHECK_FALSE(Problem<fa::half>(shape, false).passes(0.0));
    CHECK_FALSE(Problem<fa::bfloat16>(shape, false).passes(fa::unit_roundoff<fa::half>));
  }
}

TEST_CASE("an error of 0.02 in one element of an fp16 result does not pass") {
  for (const fa::Shape& shape : support::shapes) {
    CAPTURE(shape);
    Problem<fa::half> problem(shape, true);
    problem.out[support::typical(problem.exact)] += 0.02f;
    CHECK_FALSE(problem.passes(fa::unit_roundoff<fa::half>));
  }
}

TEST_CASE("an output of zeros does not pass in either format") {
  for (const fa::Shape& shape : support::shapes) {
    CAPTURE(shape);
    Problem<fa::half> fp16(shape, false);
    Problem<fa::bfloat16> bf16(shape, false);
    fp16.out.assign(fp16.out.size(), 0.0f);
    bf16.out.assign(bf16.out.size(), 0.0f);
    CHECK_FALSE(fp16.passes(fa::unit_roundoff<fa::half>));
    CHECK_FALSE(bf16.passes(fa::unit_roundoff<fa::bfloat16>));
  }
}
