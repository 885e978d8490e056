// fa/compare.h, forward_tolerance and lse_tolerance: honest rounding passes, the smallest real mistake does not.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "fa/compare.h"
#include "fa/testing.h"
#include "tolerance_support.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Result {
  std::vector<float> out, lse;
};

// Attention in float by the recurrence that keeps out normalized, one key at a time: more roundings than by tiles, or
// than by the formula. `skip` leaves that key out.
Result attention(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, fa::Index skip = -1) {
  const float scale = fa::scale_of(shape, options);
  Result result{std::vector<float>(inputs.q.size(), 0.0f), {}};
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    float m = -kInfinity, l = 0.0f;
    for (fa::Index j = 0; j < fa::visible_keys(shape, options, row % shape.Nq); ++j) {
      if (j == skip) continue;
      const fa::Index key = row / shape.Nq * shape.Nk + j;
      float score = 0.0f;
      for (fa::Index d = 0; d < shape.D; ++d) {
        score += inputs.q[std::size_t(row * shape.D + d)] * inputs.k[std::size_t(key * shape.D + d)];
      }
      score *= scale;
      const float m_new = std::max(m, score), kept = std::exp(m - m_new) * l, weight = std::exp(score - m_new);
      m = m_new;
      l = kept + weight;
      for (fa::Index d = 0; d < shape.D; ++d) {
        float& out = result.out[std::size_t(row * shape.D + d)];
        out = kept / l * out + weight / l * inputs.v[std::size_t(key * shape.D + d)];
      }
    }
    result.lse.push_back(l == 0.0f ? -kInfinity : m + std::log(l));
  }
  return result;
}

struct Problem {
  fa::Inputs inputs;
  fa::Shape shape;
  fa::Options options;
  fa::ForwardOracle oracle;
  fa::Tolerance tolerance;

  Problem(const fa::Shape& given_shape, const fa::Options& given_options, fa::InputKind kind)
      : inputs(fa::make_inputs(given_shape, kind)), shape(given_shape), options(given_options) {
    oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
    tolerance = fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options);
  }
  bool passes(const std::vector<float>& out) const {
    return fa::compare("out", out, oracle.out, {{"element", fa::query_elements(shape)}}, tolerance).ok;
  }
};

}  // namespace

// ---- What must pass

TEST_CASE("rounding passes, for inputs of every kind and every shape, with a mask or without") {
  std::vector<fa::Shape> shapes(std::begin(fa::ragged_shapes), std::end(fa::ragged_shapes));
  shapes.push_back({.B = 1, .H = 1, .Nq = 30, .Nk = 1500, .D = 16});
  shapes.push_back({.B = 1, .H = 1, .Nq = 40, .Nk = 50, .D = 256});
  for (const fa::Shape& shape : shapes) {
    for (const fa::InputKind kind : fa::all_input_kinds) {
      for (const bool causal : {false, true}) {
        CAPTURE(shape, causal, fa::name_of(kind));
        const Problem problem(shape, {.causal = causal}, kind);
        const Result result = attention(problem.inputs, shape, problem.options);
        CHECK(problem.passes(result.out));
        fa::check_close("lse", result.lse, problem.oracle.lse, {{"row", fa::query_rows(shape)}},
                        fa::lse_tolerance(problem.inputs.q, problem.inputs.k, shape, problem.options));
      }
    }
  }
}

TEST_CASE("rounding passes with any scale") {
  for (const float scale : {0.0f, -0.7f, 1.0f, 100.0f}) {
    const Problem problem(support::shapes[1], {.causal = true, .scale = scale}, fa::InputKind::normal);
    CAPTURE(scale);
    CHECK(problem.passes(attention(problem.inputs, problem.shape, problem.options).out));
  }
}

// ---- What must not pass

TEST_CASE("an error of a thousandth in one element of normal inputs does not pass") {
  for (const fa::Shape& shape : support::shapes) {
    for (const bool causal : {false, true}) {
      CAPTURE(shape, causal);
      const Problem problem(shape, {.causal = causal}, fa::InputKind::normal);
      std::vector<float> out = attention(problem.inputs, shape, problem.options).out;
      out[support::typical(problem.oracle.out)] *= 1.001f;
      CHECK_FALSE(problem.passes(out));
    }
  }
}

TEST_CASE("an output of zeros does not pass, for inputs of any kind") {
  for (const fa::Shape& shape : support::shapes) {
    for (const fa::InputKind kind : fa::all_input_kinds) {
      CAPTURE(shape, fa::name_of(kind));
      const Problem problem(shape, {}, kind);
      CHECK_FALSE(problem.passes(std::vector<float>(problem.oracle.out.size(), 0.0f)));
    }
  }
}

TEST_CASE("an output of zeros does not pass even where rounding may change its every digit") {
  const std::vector<float> q{1e4f}, k{1, 1}, v{1, -0.999f};  // two scores of 1e4, whose values nearly cancel
  const fa::Shape shape{.Nq = 1, .Nk = 2, .D = 1};
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(q, k, v, shape, {});
  const fa::Tolerance tolerance = fa::forward_tolerance(q, k, v, oracle.out, shape, {});
  CHECK(tolerance.absolute > std::abs(oracle.out[0]));
  CHECK_FALSE(fa::compare("out", std::vector<float>{0}, oracle.out, {{"d", 1}}, tolerance).ok);
}

TEST_CASE("a key that is left out does not pass, be it the first or the last") {
  for (const fa::Shape& shape : support::shapes) {
    for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::outliers, fa::InputKind::equal_logits}) {
      for (const fa::Index skip : {fa::Index{0}, shape.Nk - 1}) {
        CAPTURE(shape, fa::name_of(kind), skip);
        const Problem problem(shape, {}, kind);
        CHECK_FALSE(problem.passes(attention(problem.inputs, shape, problem.options, skip).out));
      }
    }
  }
}

TEST_CASE("a mask that is forgotten, or one key too wide, does not pass") {
  const Problem problem(support::shapes[1], {.causal = true}, fa::InputKind::normal);
  CHECK_FALSE(problem.passes(attention(problem.inputs, problem.shape, {}).out));
  // Without its last query, the same problem has its diagonal one key further.
  fa::Shape wider = problem.shape;
  std::vector<float> out = attention(problem.inputs, problem.shape, problem.options).out;
  wider.B = wider.H = 1, wider.Nq -= 1;
  fa::Inputs first_head = problem.inputs;
  first_head.q.resize(std::size_t(fa::query_elements(wider)));
  const std::vector<float> wrong = attention(first_head, wider, problem.options).out;
  std::copy(wrong.begin(), wrong.end(), out.begin());
  CHECK_FALSE(problem.passes(out));
}

TEST_CASE("a scale that is off by a thousandth does not pass") {
  const Problem problem(support::shapes[1], {.scale = 0.2f}, fa::InputKind::normal);
  CHECK_FALSE(problem.passes(attention(problem.inputs, problem.shape, {.scale = 0.2002f}).out));
}

TEST_CASE("where one weight is 1 and the others 0, the value must come out nearly exactly") {
  const Problem problem({.B = 1, .H = 2, .Nq = 9, .Nk = 700, .D = 64}, {}, fa::InputKind::one_hot);
  CHECK(problem.tolerance.absolute < 2e-4);
  CHECK(problem.tolerance.normwise < 1e-4);
}

// ---- By hand

TEST_CASE("the tolerance of the worked example is the one of the formula") {
  // u = 2⁻²⁴, D = 1: e_j = 12 u |s_j|. Nk = 3: E = Σ p_j (e_j |v_j − out| + 35 u v_j).
  const std::vector<float> q{1}, k{2, 1, 0}, v{1, 3, 5};
  const std::vector<double> out{1.849579};
  const fa::Shape shape{.Nq = 1, .Nk = 3, .D = 1};
  const double u = 0x1p-24;
  const double E = 0.665241 * 24 * u * 0.849579 + 0.244728 * 12 * u * 1.150421 + 35 * u * 1.849579;
  const fa::Tolerance tolerance = fa::forward_tolerance(q, k, v, out, shape, {.scale = 1.0f});
  CHECK(std::abs(tolerance.absolute / E - 1.0) < 1e-5);
  CHECK(tolerance.relative == 0.0);
  CHECK(std::abs(tolerance.normwise / (E / 1.849579) - 1.0) < 1e-5);
  const fa::Tolerance of_lse = fa::lse_tolerance(q, k, shape, {.scale = -0.5f});
  CHECK(of_lse.absolute == (12 + 35) * u);
  CHECK(of_lse.relative == 4 * u);
}

// ---- Odd inputs

TEST_CASE("a NaN or an infinity among the operands does not widen the tolerance of the rest") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 4, .Nk = 4, .D = 2};
  for (const float bad : {kNaN, kInfinity}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.q[7] = bad;  // the last query only
    const auto tolerance = [&] {
      const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
      return fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, {});
    };
    CHECK(tolerance().absolute > 0.0);
    CHECK(tolerance().absolute < 1e-5);
    CHECK(tolerance().normwise < 1e-5);
    CHECK(fa::lse_tolerance(inputs.q, inputs.k, shape, {}).absolute < 1e-5);
    inputs.v[0] = bad;
    CHECK(tolerance().absolute < 1e-5);
  }
}

TEST_CASE("a key whose score is -inf is allowed no error, and does not spoil that of the others") {
  const std::vector<float> q{1}, k{-kInfinity, 1, 0}, v{1, 3, 5};
  const fa::Shape shape{.Nq = 1, .Nk = 3, .D = 1};
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(q, k, v, shape, {});
  const fa::Tolerance tolerance = fa::forward_tolerance(q, k, v, oracle.out, shape, {});
  CHECK(tolerance.absolute > 1e-6);
  CHECK(tolerance.absolute < 1e-4);
}

TEST_CASE("an output that is all zeros must be met exactly, and an empty one has no error") {
  const fa::Shape shape{.B = 3, .H = 2, .Nq = 5, .Nk = 0, .D = 4};
  const Problem problem(shape, {}, fa::InputKind::normal);
  CHECK(problem.passes(std::vector<float>(120, 0.0f)));
  CHECK_FALSE(problem.passes(std::vector<float>(120, 1e-30f)));
  CHECK(Problem({.Nq = 0, .Nk = 4, .D = 2}, {}, fa::InputKind::normal).passes({}));
}

TEST_CASE("operands of another size are rejected by name") {
  using Catch::Matchers::ContainsSubstring;
  const std::vector<float> two(2), six(6);
  const std::vector<double> out(2);
  const fa::Shape shape{.Nq = 1, .Nk = 3, .D = 2};
  CHECK_NOTHROW(fa::forward_tolerance(two, six, six, out, shape, {}));
  CHECK_THROWS_WITH(fa::forward_tolerance(two, six, two, out, shape, {}), ContainsSubstring("v has 2 elements"));
  CHECK_THROWS_WITH(fa::forward_tolerance(two, six, six, {}, shape, {}), ContainsSubstring("out has 0 elements"));
  CHECK_THROWS_WITH(fa::lse_tolerance(six, six, shape, {}), ContainsSubstring("q has 6 elements"));
  CHECK_THROWS_WITH(fa::lse_tolerance(two, two, shape, {}), ContainsSubstring("k has 2 elements"));
  CHECK_THROWS_AS(fa::lse_tolerance(two, six, shape, {.scale = kNaN}), std::invalid_argument);
}
