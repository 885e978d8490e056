// How test.cpp runs lesson 08's functions and compares what they give.

#pragma once

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_backward.h"
#include "fa/heap.h"
#include "fa/testing.h"
#include "gradient_check.h"

namespace support {

inline const fa::Tolerance kTight{.absolute = 2e-6, .relative = 2e-6, .normwise = 2e-6};

// [worked-example]
// Query 2 of lesson 01, alone: its scores are 2, 1, 0. The loss is the first number of its output, so dout = (1, 0).
inline const fa::Shape kExample{.Nq = 1, .Nk = 3, .D = 2};
inline const fa::Options kExampleOptions{.scale = 1.0f};
inline const fa::Inputs kExampleInputs{.q = {1, 1},                 // (1, 2)
                                       .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                       .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                       .dout = {1, 0}};             // (1, 2)
// [/worked-example]
inline const std::vector<float> kExampleP{0.665241f, 0.244728f, 0.0900306f};
inline const std::vector<double> kExampleDs{-0.565175, 0.281541, 0.283634};

// The first number of its output when the first score is another. One query of 1 and D = 1: scores are keys.
inline double example_output(double first_score) {
  const std::vector<double> q{1}, k{first_score, 1, 0}, v{1, 3, 5};
  return fa::attention_forward_oracle(q, k, v, {.Nk = 3}, {.scale = 1.0f}).out[0];
}

inline fa::Inputs three_times(fa::Inputs inputs) {
  for (std::vector<float>* operand : {&inputs.q, &inputs.k, &inputs.v}) {
    for (float& value : *operand) value *= 3.0f;
  }
  return inputs;
}

// One NaN: in each operand, in row 1 or row 5 of the first head. The second time all weights but one are 0 in float:
// they must not hide it, since 0 · NaN is NaN.
inline std::vector<fa::Inputs> nan_in_each_operand(const fa::Shape& shape) {
  std::vector<fa::Inputs> result;
  for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::one_hot}) {
    for (const auto operand : {&fa::Inputs::q, &fa::Inputs::k, &fa::Inputs::v, &fa::Inputs::dout}) {
      for (const fa::Index row : {1, 5}) {
        fa::Inputs inputs = fa::make_inputs(shape, kind);
        (inputs.*operand).at(std::size_t((row + 1) * shape.D - 1)) = fa::nan;
        result.push_back(inputs);
      }
    }
  }
  return result;
}

// What the forward pass leaves: P and out, computed in double and rounded once.
struct Forward {
  std::vector<float> p;    // (B, H, Nq, Nk)
  std::vector<float> out;  // (B, H, Nq, D)

  Forward(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
    out.assign(oracle.out.begin(), oracle.out.end());
    for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
      const fa::Index visible = fa::visible_keys(shape, options, row % shape.Nq);
      for (fa::Index j = 0; j < shape.Nk; ++j) {
        double score = 0.0;
        for (fa::Index d = 0; d < shape.D; ++d) {
          score += double(inputs.q[std::size_t(row * shape.D + d)]) *
                   double(inputs.k[std::size_t((row / shape.Nq * shape.Nk + j) * shape.D + d)]);
        }
        score *= double(fa::scale_of(shape, options));
        // In a row that has no score but −inf, lse is −inf too, and −inf − −inf would be NaN.
        const double lse = oracle.lse[std::size_t(row)];
        p.push_back(j < visible && lse != fa::negative_infinity ? float(std::exp(score - lse)) : 0.0f);
      }
    }
  }
};

// One run of attention_backward: the gradients and the memory that it took.
struct Run {
  std::vector<float> dq, dk, dv;
  fa::Scratch scratch;
  fa::Index unmetered_bytes = 0;  // of the heap, taken beside `scratch`

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options)
      : Run(inputs, Forward(inputs, shape, options), shape, options) {}
  Run(const fa::Inputs& inputs, const Forward& forward, const fa::Shape& shape, const fa::Options& options)
      : dq(fa::poisoned(fa::query_elements(shape))),
        dk(fa::poisoned(fa::key_elements(shape))),
        dv(fa::poisoned(fa::key_elements(shape))) {
    const fa::HeapMeter heap;
    lesson::attention_backward(inputs.q.data(), inputs.k.data(), inputs.v.data(), forward.p.data(), forward.out.data(),
                               inputs.dout.data(), dq.data(), dk.data(), dv.data(), shape, options, scratch);
    unmetered_bytes = heap.bytes() - scratch.heap_bytes();
  }
};

inline void check_gradients(const Run& run, const fa::BackwardOracle& expected, const fa::Shape& shape,
                            const fa::BackwardTolerance& tolerance) {
  const auto check = [&](const char* name, const std::vector<float>& got, const std::vector<double>& wanted,
                         fa::Extent rows, const fa::Tolerance& allowed) {
    fa::check_close(name, got, wanted, {{"b", shape.B}, {"h", shape.H}, rows, {"d", shape.D}}, allowed);
  };
  check("dq", run.dq, expected.dq, {"i", shape.Nq}, tolerance.dq);
  check("dk", run.dk, expected.dk, {"j", shape.Nk}, tolerance.dk);
  check("dv", run.dv, expected.dv, {"j", shape.Nk}, tolerance.dv);
}

inline void check_against_oracle(const Run& run, const fa::Inputs& inputs, const fa::Shape& shape,
                                 const fa::Options& options) {
  CAPTURE(shape, options);
  const auto oracle = fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options);
  check_gradients(run, oracle, shape,
                  fa::backward_tolerance(inputs.q, inputs.k, inputs.v, inputs.dout, oracle, shape, options));
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  check_against_oracle(Run(inputs, shape, options), inputs, shape, options);
}

// Central differences against the oracle, whose error has a valley, and against attention_backward.
inline void check_central_differences(const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Run run(inputs, shape, options);
  const auto oracle = fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options);
  const gradient_check::OracleLoss loss{inputs.dout, shape, options};
  std::vector<double> large_steps, large_errors;
  for (const int halvings : {4, 6, 8, 12, 17, 26, 40}) {
    const double step = std::ldexp(1.0, -halvings);
    const auto differences = central_differences(gradient_check::Operands(inputs), loss, step);
    const double error = gradient_check::relative_error(differences, oracle);
    CAPTURE(step, error);
    // What differences leave out is of the order of step². What float leaves out of the gradients is below 1e-6.
    if (halvings <= 26) CHECK(gradient_check::relative_error(run, differences) < 1e-6 + 2 * step * step);
    if (halvings <= 8) large_steps.push_back(step), large_errors.push_back(error);
    if (halvings == 17) CHECK(error < 1e-9);  // the valley
    if (halvings == 40) CHECK(error > 1e-6);  // the rounding of a loss, divided by the step
  }
  CHECK(std::abs(fa::log_log_slope(large_steps, large_errors) - 2.0) < 0.1);
}

// Several heads of unequal extents, and matrices of random numbers: no step but the last needs a P that is a softmax.
inline const fa::Shape kHeads{.B = 2, .H = 3, .Nq = 4, .Nk = 5, .D = 6};

// A matrix product in each head, in double: result_rc = Σ_n a(h, r, n) · b(h, n, c).
template <class A, class B>
std::vector<double> product(fa::Index heads, fa::Index rows, fa::Index inner, fa::Index columns, A a, B b) {
  std::vector<double> result;
  for (fa::Index h = 0; h < heads; ++h) {
    for (fa::Index r = 0; r < rows; ++r) {
      for (fa::Index c = 0; c < columns; ++c) {
        double sum = 0.0;
        for (fa::Index n = 0; n < inner; ++n) sum += double(a(h, r, n)) * double(b(h, n, c));
        result.push_back(sum);
      }
    }
  }
  return result;
}

// Element (h, row, column) of matrices that follow one another, (heads, rows, columns).
struct Matrices {
  std::vector<float> values;
  fa::Index rows, columns;

  Matrices(std::vector<float> given_values, fa::Index given_rows, fa::Index given_columns)
      : values(std::move(given_values)), rows(given_rows), columns(given_columns) {}
  Matrices(fa::Index heads, fa::Index given_rows, fa::Index given_columns, std::uint64_t seed)
      : Matrices(fa::normal_values(heads * given_rows * given_columns, seed), given_rows, given_columns) {}
  float operator()(fa::Index h, fa::Index row, fa::Index column) const {
    return values[std::size_t((h * rows + row) * columns + column)];
  }
  const float* data() const { return values.data(); }
};

// Step 1 under a causal mask, in one head with D = 1.
inline void check_value_gradient(const fa::Shape& shape, const std::vector<float>& p, const std::vector<float>& dout,
                                 const std::vector<double>& expected) {
  CAPTURE(shape, p, dout);
  std::vector<float> dv = fa::poisoned(shape.Nk);
  lesson::value_gradient(p.data(), dout.data(), dv.data(), shape, {.causal = true});
  fa::check_close("dv", dv, expected, {{"j", shape.Nk}}, kTight);
}

// Step 5 under a causal mask, in one head with D = 1.
struct HiddenPairs {
  fa::Shape shape;
  std::vector<float> ds;

  void check(const std::vector<float>& q, const std::vector<float>& k, const std::vector<double>& expected_dq,
             const std::vector<double>& expected_dk) const {
    CAPTURE(shape, ds, q, k);
    std::vector<float> dq = fa::poisoned(shape.Nq), dk = fa::poisoned(shape.Nk);
    lesson::query_key_gradients(ds.data(), q.data(), k.data(), dq.data(), dk.data(), shape, {.causal = true});
    fa::check_close("dq", dq, expected_dq, {{"i", shape.Nq}}, kTight);
    fa::check_close("dk", dk, expected_dk, {{"j", shape.Nk}}, kTight);
  }
};

// dp of all pairs, in double, rounded once.
inline std::vector<float> weight_gradient_by_oracle(const fa::Inputs& inputs, const fa::Shape& shape) {
  const auto& [B, H, Nq, Nk, D] = shape;
  const Matrices dout(inputs.dout, Nq, D), v(inputs.v, Nk, D);
  const auto transposed = [&](fa::Index h, fa::Index d, fa::Index j) { return v(h, j, d); };
  const std::vector<double> dp = product(B * H, Nq, D, Nk, dout, transposed);
  return {dp.begin(), dp.end()};
}

// ds of rows whose delta comes from their weights, in double.
inline std::vector<float> score_gradient(const std::vector<float>& p, const std::vector<float>& dp, fa::Index rows) {
  const fa::Index columns = fa::Index(p.size()) / rows;
  std::vector<float> delta, ds = fa::poisoned(fa::Index(p.size()));
  for (fa::Index row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (fa::Index at = row * columns; at < (row + 1) * columns; ++at) {
      sum += double(p[std::size_t(at)]) * double(dp[std::size_t(at)]);
    }
    delta.push_back(float(sum));
  }
  lesson::score_gradient(p.data(), dp.data(), delta.data(), ds.data(), rows, columns);
  return ds;
}

// A call with a null pointer in place of the operand called `null`. Nothing may have been written when it throws.
inline void call_without(std::string_view null, const fa::Shape& shape, const fa::Options& options) {
  std::vector<float> values(8, 1.0f), written = fa::poisoned(8);
  const auto given = [&](const char* name) { return null == name ? nullptr : values.data(); };
  const auto result = [&](const char* name) { return null == name ? nullptr : written.data(); };
  fa::Scratch scratch;
  try {
    lesson::attention_backward(given("q"), given("k"), given("v"), given("p"), given("out"), given("dout"),
                               result("dq"), result("dk"), result("dv"), shape, options, scratch);
  } catch (...) {
    for (const float value : written) CHECK(fa::is_poison(value));
    throw;
  }
}

}  // namespace support
