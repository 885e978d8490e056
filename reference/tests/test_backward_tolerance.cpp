// fa/compare.h, backward_tolerance: honest rounding passes, the smallest real mistake does not.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "fa/compare.h"
#include "fa/testing.h"
#include "tolerance_support.h"

namespace {

struct Gradients {
  std::vector<float> dq, dk, dv;
};

// Mistakes of real backward passes, small ones.
struct Mistakes {
  float dq_scale = 1.0f, dk_scale = 1.0f;  // factors that do not belong there
  bool delta = true;
  fa::Index skip = -1;  // a key that is left out
};

// The backward pass in float. `recomputed`: scores are summed in another order than in the forward pass, so its m and l
// belong to scores that are rounded otherwise.
Gradients backward(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, bool recomputed,
                   const Mistakes& mistakes = {}) {
  const float scale = fa::scale_of(shape, options);
  Gradients result{std::vector<float>(inputs.q.size(), 0.0f), std::vector<float>(inputs.k.size(), 0.0f),
                   std::vector<float>(inputs.v.size(), 0.0f)};
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    const float *q = &inputs.q[std::size_t(row * shape.D)], *dout = &inputs.dout[std::size_t(row * shape.D)];
    const fa::Index first = row / shape.Nq * shape.Nk * shape.D,
                    keys = fa::visible_keys(shape, options, row % shape.Nq);
    const float *k = inputs.k.data() + first, *v = inputs.v.data() + first;
    const auto dot = [&](const float* a, const float* b, bool reversed) {
      float sum = 0.0f;
      for (fa::Index at = 0; at < shape.D; ++at) {
        const fa::Index d = reversed ? shape.D - 1 - at : at;
        sum += a[d] * b[d];
      }
      return sum;
    };
    std::vector<float> p;
    for (fa::Index j = 0; j < keys; ++j) p.push_back(scale * dot(q, k + j * shape.D, false));
    const float m = p.empty() ? 0.0f : *std::max_element(p.begin(), p.end());
    float l = 0.0f;
    for (const float score : p) l += std::exp(score - m);
    std::vector<float> out(std::size_t(shape.D), 0.0f);
    for (fa::Index j = 0; j < keys; ++j) {
      float& weight = p[std::size_t(j)];
      weight = std::exp(weight - m) / l;
      for (fa::Index d = 0; d < shape.D; ++d) out[std::size_t(d)] += weight * v[j * shape.D + d];
      if (recomputed) weight = std::exp(scale * dot(q, k + j * shape.D, true) - m) / l;
    }
    const float delta = mistakes.delta ? dot(dout, out.data(), recomputed) : 0.0f;
    for (fa::Index j = 0; j < keys; ++j) {
      if (j == mistakes.skip) continue;
      const float ds = p[std::size_t(j)] * (dot(dout, v + j * shape.D, false) - delta);
      for (fa::Index d = 0; d < shape.D; ++d) {
        result.dv[std::size_t(first + j * shape.D + d)] += p[std::size_t(j)] * dout[d];
        result.dq[std::size_t(row * shape.D + d)] += mistakes.dq_scale * scale * ds * k[j * shape.D + d];
        result.dk[std::size_t(first + j * shape.D + d)] += mistakes.dk_scale * scale * ds * q[d];
      }
    }
  }
  return result;
}

struct Problem {
  fa::Inputs inputs;
  fa::Shape shape;
  fa::Options options;
  fa::BackwardOracle oracle;
  fa::BackwardTolerance tolerance;

  Problem(fa::Inputs given_inputs, const fa::Shape& given_shape, const fa::Options& given_options)
      : inputs(std::move(given_inputs)), shape(given_shape), options(given_options) {
    oracle = fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options);
    tolerance = fa::backward_tolerance(inputs.q, inputs.k, inputs.v, inputs.dout, oracle, shape, options);
  }
  Problem(const fa::Shape& given_shape, const fa::Options& given_options, fa::InputKind kind = fa::InputKind::normal)
      : Problem(fa::make_inputs(given_shape, kind), given_shape, given_options) {}

  Gradients gradients(const Mistakes& mistakes = {}) const { return backward(inputs, shape, options, false, mistakes); }
  fa::Comparison compare_dq(const Gradients& got) const {
    return fa::compare("dq", got.dq, oracle.dq, {{"element", fa::query_elements(shape)}}, tolerance.dq);
  }
  fa::Comparison compare_dk(const Gradients& got) const {
    return fa::compare("dk", got.dk, oracle.dk, {{"element", fa::key_elements(shape)}}, tolerance.dk);
  }
  fa::Comparison compare_dv(const Gradients& got) const {
    return fa::compare("dv", got.dv, oracle.dv, {{"element", fa::key_elements(shape)}}, tolerance.dv);
  }
  void check_passes(const Gradients& got) const {
    for (const fa::Comparison& comparison : {compare_dq(got), compare_dk(got), compare_dv(got)}) {
      INFO(comparison.message);
      CHECK(comparison.ok);
    }
  }
};

}  // namespace

// ---- What must pass

TEST_CASE("rounding of gradients passes, for inputs of every kind and every shape, with a mask or without") {
  std::vector<fa::Shape> shapes(std::begin(fa::ragged_shapes), std::end(fa::ragged_shapes));
  shapes.push_back({.B = 1, .H = 1, .Nq = 30, .Nk = 1500, .D = 16});
  shapes.push_back({.B = 1, .H = 1, .Nq = 900, .Nk = 20, .D = 16});
  shapes.push_back({.B = 1, .H = 1, .Nq = 40, .Nk = 50, .D = 256});
  for (const fa::Shape& shape : shapes) {
    for (const fa::InputKind kind : fa::all_input_kinds) {
      for (const bool causal : {false, true}) {
        for (const bool recomputed : {false, true}) {
          CAPTURE(shape, causal, fa::name_of(kind), recomputed);
          const Problem problem(shape, {.causal = causal}, kind);
          problem.check_passes(backward(problem.inputs, shape, problem.options, recomputed));
        }
      }
    }
  }
}

TEST_CASE("rounding of gradients passes with any scale") {
  for (const float scale : {0.0f, -0.7f, 1.0f, 100.0f}) {
    for (const bool recomputed : {false, true}) {
      CAPTURE(scale, recomputed);
      const Problem problem(support::shapes[1], {.causal = true, .scale = scale});
      problem.check_passes(backward(problem.inputs, problem.shape, problem.options, recomputed));
    }
  }
}

TEST_CASE("what rounding leaves of a gradient that cancels passes, and nothing larger") {
  const Problem problem({.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16}, {});  // one key: p is 1 whatever the score is
  Gradients got = problem.gradients();
  CHECK(problem.oracle.dq == std::vector<double>(16, 0.0));
  got.dq.assign(16, 1e-7f);
  got.dk.assign(16, -1e-7f);
  problem.check_passes(got);
  got.dq[3] = got.dk[3] = 1e-4f;
  CHECK_FALSE(problem.compare_dq(got).ok);
  CHECK_FALSE(problem.compare_dk(got).ok);
}

// ---- What must not pass

TEST_CASE("an error of a hundredth in one element of a gradient does not pass") {
  for (const fa::Shape& shape : support::shapes) {
    for (const bool causal : {false, true}) {
      CAPTURE(shape, causal);
      const Problem problem(shape, {.causal = causal});
      Gradients got = problem.gradients();
      got.dq[support::typical(problem.oracle.dq)] *= 1.01f;
      got.dk[support::typical(problem.oracle.dk)] *= 1.01f;
      got.dv[support::typical(problem.oracle.dv)] *= 1.01f;
      CHECK_FALSE(problem.compare_dq(got).ok);
      CHECK_FALSE(problem.compare_dk(got).ok);
      CHECK_FALSE(problem.compare_dv(got).ok);
    }
  }
}

TEST_CASE("gradients of zeros do not pass where the gradients are not lost in rounding") {
  for (const fa::Shape& shape : support::shapes) {
    for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::outliers}) {
      CAPTURE(shape, fa::name_of(kind));
      const Problem problem(shape, {}, kind);
      const Gradients zeros{std::vector<float>(problem.inputs.q.size(), 0.0f),
                            std::vector<float>(problem.inputs.k.size(), 0.0f),
                            std::vector<float>(problem.inputs.v.size(), 0.0f)};
      CHECK_FALSE(problem.compare_dq(zeros).ok);
      CHECK_FALSE(problem.compare_dk(zeros).ok);
      CHECK_FALSE(problem.compare_dv(zeros).ok);
    }
  }
}

TEST_CASE("a delta that is forgotten, a key that is left out or a scale off by a thousandth does not pass") {
  for (const fa::Shape& shape : support::shapes) {
    CAPTURE(shape);
    const Problem problem(shape, {});
    CHECK_FALSE(problem.compare_dq(problem.gradients({.delta = false})).ok);
    CHECK_FALSE(problem.compare_dk(problem.gradients({.delta = false})).ok);
    for (const fa::Index skip : {fa::Index{0}, shape.Nk - 1}) {
      CHECK_FALSE(problem.compare_dq(problem.gradients({.skip = skip})).ok);
      CHECK_FALSE(problem.compare_dk(problem.gradients({.skip = skip})).ok);
      CHECK_FALSE(problem.compare_dv(problem.gradients({.skip = skip})).ok);
    }
    CHECK_FALSE(problem.compare_dq(problem.gradients({.dq_scale = 1.001f})).ok);
    CHECK_FALSE(problem.compare_dk(problem.gradients({.dk_scale = 1.001f})).ok);
  }
}

TEST_CASE("a mask that is forgotten in the backward pass does not pass") {
  const Problem problem(support::shapes[1], {.causal = true});
  const Gradients got = backward(problem.inputs, problem.shape, {}, false);
  CHECK_FALSE(problem.compare_dq(got).ok);
  CHECK_FALSE(problem.compare_dk(got).ok);
  CHECK_FALSE(problem.compare_dv(got).ok);
}

// ---- By hand

TEST_CASE("the tolerance of the gradients of the worked example is the one of the formula") {
  // D = 1, q = dout = scale = 1: e = 12 u |s|, dp = v, a = v, g = 12 u v. Nk = 3: 35 u; Nq = 1: 33 u.
  const double u = 0x1p-24, s[] = {2, 1, 0}, v[] = {1, 3, 5}, p[] = {0.665241, 0.244728, 0.090031}, delta = 1.849579;
  double e_mean = 0.0, h = 0.0, dq = 0.0, dk = 0.0, dv = 0.0;
  for (int j = 0; j < 3; ++j) {
    e_mean += p[j] * 12 * u * s[j];
    h += p[j] * (12 * u * s[j] * std::abs(v[j] - delta) + 12 * u * v[j] + 35 * u * v[j]);
  }
  for (int j = 0; j < 3; ++j) {
    const double gap = std::abs(v[j] - delta), r = 12 * u * s[j] + e_mean + 35 * u;
    const double F = p[j] * (r * gap + 12 * u * v[j] + h);
    dq += (F + 35 * u * p[j] * gap) * s[j];
    dk = std::max(dk, F + 33 * u * p[j] * gap);
    dv = std::max(dv, p[j] * (r + 33 * u));
  }
  const Problem problem({.q = {1}, .k = {2, 1, 0}, .v = {1, 3, 5}, .dout = {1}}, {.Nq = 1, .Nk = 3, .D = 1},
                        {.scale = 1.0f});
  CHECK(std::abs(problem.tolerance.dq.absolute / dq - 1.0) < 1e-5);
  CHECK(std::abs(problem.tolerance.dk.absolute / dk - 1.0) < 1e-5);
  CHECK(std::abs(problem.tolerance.dv.absolute / dv - 1.0) < 1e-5);
  CHECK(std::abs(problem.tolerance.dq.normwise / (dq / std::abs(problem.oracle.dq[0])) - 1.0) < 1e-5);
}

// ---- Odd inputs

TEST_CASE("a NaN among the operands does not widen the tolerance of the other gradients") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 4, .Nk = 4, .D = 2};
  for (std::vector<float> fa::Inputs::* operand : {&fa::Inputs::q, &fa::Inputs::k, &fa::Inputs::v, &fa::Inputs::dout}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    (inputs.*operand)[7] = fa::nan;
    const Problem problem(inputs, shape, {.causal = true});
    for (const fa::Tolerance& tolerance : {problem.tolerance.dq, problem.tolerance.dk, problem.tolerance.dv}) {
      CHECK(tolerance.absolute > 0.0);
      CHECK(tolerance.absolute < 1e-4);
      CHECK(tolerance.normwise < 1e-4);
    }
    problem.check_passes(problem.gradients());
  }
}

TEST_CASE("operands and gradients of another size are rejected by name") {
  using Catch::Matchers::ContainsSubstring;
  const fa::Shape shape{.Nq = 1, .Nk = 3, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Problem problem(shape, {});  // what is right is not rejected
  const auto call = [&](const std::vector<float>& dout, const fa::BackwardOracle& expected) {
    fa::backward_tolerance(inputs.q, inputs.k, inputs.v, dout, expected, shape, {});
  };
  CHECK_THROWS_WITH(call({}, problem.oracle), ContainsSubstring("dout has 0 elements"));
  const auto lacks = [&](std::vector<double> fa::BackwardOracle::* gradient) {
    fa::BackwardOracle expected = problem.oracle;
    (expected.*gradient).pop_back();
    call(inputs.dout, expected);
  };
  CHECK_THROWS_WITH(lacks(&fa::BackwardOracle::dq), ContainsSubstring("dq has 1 elements"));
  CHECK_THROWS_WITH(lacks(&fa::BackwardOracle::dk), ContainsSubstring("dk has 5 elements"));
  CHECK_THROWS_WITH(lacks(&fa::BackwardOracle::dv), ContainsSubstring("dv has 5 elements"));
}
