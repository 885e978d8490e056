// fa/oracle.h, backward: against central differences of an independent forward pass, and by its properties.

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "fa/oracle.h"
#include "fa/testing.h"
#include "second_opinion.h"

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

fa::BackwardOracle oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  return fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options);
}

// (loss(x + step) − loss(x − step)) / (2 step) for each x of one operand. The error is of the order of step².
std::vector<double> central_differences(SecondOpinion second, std::vector<double> SecondOpinion::* operand,
                                        const std::vector<float>& dout, double step) {
  std::vector<double> differences;
  for (double& x : second.*operand) {
    const double original = x;
    x = original + step;
    const double above = second.loss(dout);
    x = original - step;
    const double below = second.loss(dout);
    x = original;
    differences.push_back((above - below) / (2.0 * step));
  }
  return differences;
}

void check_zero(const std::vector<double>& gradient) {
  for (const double element : gradient) CHECK(element == 0.0);
}

double dot(const std::vector<float>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t at = 0; at < a.size(); ++at) sum += double(a[at]) * b[at];
  return sum;
}

}  // namespace

TEST_CASE("gradients agree with central differences, whose error falls as the square of the step") {
  const std::vector<double> steps{1e-2, 1e-3, 1e-4};
  for (const fa::Shape& shape :
       {fa::Shape{.B = 2, .H = 3, .Nq = 2, .Nk = 3, .D = 4}, fa::Shape{.B = 1, .H = 2, .Nq = 5, .Nk = 3, .D = 2},
        fa::Shape{.B = 2, .H = 1, .Nq = 3, .Nk = 6, .D = 1}}) {
    for (const fa::Options& options : {fa::Options{}, fa::Options{.causal = true}, fa::Options{.scale = -0.7f},
                                       fa::Options{.causal = true, .scale = 1.2f}}) {
      CAPTURE(shape, options);
      const fa::Inputs inputs = fa::make_inputs(shape);
      const fa::BackwardOracle result = oracle(inputs, shape, options);
      const SecondOpinion second(inputs, shape, options);
      std::vector<double> dq_errors, dk_errors;
      for (const double step : steps) {
        CAPTURE(step);
        const auto error = [&](std::vector<double> SecondOpinion::* operand, const std::vector<double>& gradient) {
          return largest_difference(gradient, central_differences(second, operand, inputs.dout, step));
        };
        dq_errors.push_back(error(&SecondOpinion::q, result.dq));
        dk_errors.push_back(error(&SecondOpinion::k, result.dk));
        CHECK(dq_errors.back() < 10.0 * step * step);
        CHECK(dk_errors.back() < 10.0 * step * step);
        CHECK(error(&SecondOpinion::v, result.dv) < 1e-14 / step);  // out is linear in v: rounding alone
      }
      CHECK(std::abs(fa::log_log_slope(steps, dq_errors) - 2.0) < 0.1);
      CHECK(std::abs(fa::log_log_slope(steps, dk_errors) - 2.0) < 0.1);
    }
  }
}

TEST_CASE("rowsum(dP * P) equals rowsum(dO * O), row by row") {
  const fa::Index N = 6;
  const fa::Shape shape{.Nq = N, .Nk = N, .D = N};
  for (const bool causal : {false, true}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.dout.assign(std::size_t(N * N), 0.0f);
    for (fa::Index i = 0; i < N; ++i) inputs.dout[std::size_t(i * N + i)] = float(i + 1);
    // dout = diag(1 ... N), so dv_ji = (i + 1) p_ij and dp_ij = (i + 1) v_ji: P and dP can be read off.
    const fa::BackwardOracle backward = oracle(inputs, shape, {.causal = causal});
    const fa::ForwardOracle forward =
        fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {.causal = causal});
    for (fa::Index i = 0; i < N; ++i) {
      double dp_p = 0.0;
      for (fa::Index j = 0; j < N; ++j) {
        dp_p += backward.dv[std::size_t(j * N + i)] * double(inputs.v[std::size_t(j * N + i)]);
      }
      CAPTURE(causal, i);
      CHECK(std::abs(dp_p - double(i + 1) * forward.out[std::size_t(i * N + i)]) < 1e-14);
    }
  }
}

TEST_CASE("each row of dS sums to zero: a column of ones in K gets no gradient in Q") {
  const fa::Shape shape{.B = 2, .H = 1, .Nq = 5, .Nk = 7, .D = 3};
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::size_t row = 0; row < 14; ++row) inputs.k[row * 3 + 2] = 1.0f;
  const fa::BackwardOracle result = oracle(inputs, shape, {.causal = true});
  for (std::size_t row = 0; row < 10; ++row) {
    CHECK(std::abs(result.dq[row * 3 + 2]) < 1e-15);
    CHECK(std::abs(result.dq[row * 3 + 1]) > 1e-3);
  }
}

TEST_CASE("q * dq and k * dk have the same sum, since scores are linear in either") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 6, .Nk = 9, .D = 4};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::BackwardOracle result = oracle(inputs, shape, {.causal = true});
  CHECK(std::abs(dot(inputs.q, result.dq) - dot(inputs.k, result.dk)) < 1e-13);
  CHECK(std::abs(dot(inputs.q, result.dq)) > 0.1);
}

TEST_CASE("dout times two gives gradients times two, exactly") {
  const fa::Shape shape{.B = 2, .H = 1, .Nq = 4, .Nk = 3, .D = 5};
  fa::Inputs inputs = fa::make_inputs(shape);
  fa::BackwardOracle once = oracle(inputs, shape, {});
  for (float& element : inputs.dout) element *= 2.0f;
  const fa::BackwardOracle twice = oracle(inputs, shape, {});
  for (std::vector<double>* gradient : {&once.dq, &once.dk, &once.dv}) {
    for (double& element : *gradient) element *= 2.0;
  }
  CHECK(largest_difference(twice.dq, once.dq) == 0.0);
  CHECK(largest_difference(twice.dk, once.dk) == 0.0);
  CHECK(largest_difference(twice.dv, once.dv) == 0.0);
}

TEST_CASE("with one query and one key, dv = dout, and dq and dk are zero") {
  for (const fa::Index D : {1, 16}) {
    const fa::Shape shape{.B = 2, .H = 3, .Nq = 1, .Nk = 1, .D = D};
    const fa::Inputs inputs = fa::make_inputs(shape);
    const fa::BackwardOracle result = oracle(inputs, shape, {});
    CHECK(largest_difference(result.dv, std::vector<double>(inputs.dout.begin(), inputs.dout.end())) == 0.0);
    check_zero(result.dq);
    check_zero(result.dk);
  }
}

TEST_CASE("a query that sees no key has no gradient and gives none") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 5, .Nk = 2, .D = 3};  // causal: 0, 1 and 2 see nothing
  fa::Inputs inputs = fa::make_inputs(shape);
  const fa::BackwardOracle before = oracle(inputs, shape, {.causal = true});
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t at = 0; at < 15; ++at) CHECK((before.dq[head * 15 + at] == 0.0) == (at < 12));  // query 3: N = 1
    for (std::size_t at = 0; at < 9; ++at) inputs.q[head * 15 + at] = inputs.dout[head * 15 + at] = 7.0f;
  }
  const fa::BackwardOracle after = oracle(inputs, shape, {.causal = true});
  CHECK(largest_difference(after.dk, before.dk) == 0.0);
  CHECK(largest_difference(after.dv, before.dv) == 0.0);
}

TEST_CASE("without keys dq is zero, without queries dk and dv are") {
  const fa::Shape no_keys{.B = 1, .H = 2, .Nq = 3, .Nk = 0, .D = 2},
      no_queries{.B = 1, .H = 2, .Nq = 0, .Nk = 3, .D = 2};
  const fa::BackwardOracle without_keys = oracle(fa::make_inputs(no_keys), no_keys, {});
  CHECK(without_keys.dq.size() == 12);
  CHECK(without_keys.dk.size() + without_keys.dv.size() == 0);
  check_zero(without_keys.dq);
  const fa::BackwardOracle without_queries = oracle(fa::make_inputs(no_queries), no_queries, {});
  CHECK(without_queries.dq.empty());
  CHECK(without_queries.dk.size() + without_queries.dv.size() == 24);
  check_zero(without_queries.dk);
  check_zero(without_queries.dv);
}

TEST_CASE("a scale of zero stops the gradient of q and k, not that of v") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 2, .Nk = 3, .D = 1};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.dout = {6, 3};
  const fa::BackwardOracle result = oracle(inputs, shape, {.causal = true, .scale = 0.0f});
  check_zero(result.dq);
  check_zero(result.dk);
  CHECK(largest_difference(result.dv, std::vector<double>{4, 4, 1}) < 1e-15);  // 6/2 + 3/3, 6/2 + 3/3, 3/3
}

TEST_CASE("gradients of large inputs are finite") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 48, .Nk = 48, .D = 32};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    const fa::BackwardOracle result = oracle(fa::make_inputs(shape, kind), shape, {.causal = true});
    for (const std::vector<double>* gradient : {&result.dq, &result.dk, &result.dv}) {
      INFO("inputs: " << fa::name_of(kind));
      CHECK(std::isfinite(dot(std::vector<float>(gradient->size(), 1.0f), *gradient)));
    }
  }
}

TEST_CASE("a NaN in a query reaches its dq and the keys that it sees, and nothing else") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 3, .Nk = 3, .D = 2};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q[6 + 2] = kNaN;  // head 1, query 1: it sees keys 0 and 1
  const fa::BackwardOracle result = oracle(inputs, shape, {.causal = true});
  for (std::size_t at = 0; at < 12; ++at) {
    const bool head_1 = at >= 6;
    const std::size_t row = at / 2 % 3;
    CAPTURE(at);
    CHECK(std::isnan(result.dq[at]) == (head_1 && row == 1));
    CHECK(std::isnan(result.dk[at]) == (head_1 && row <= 1));
    CHECK(std::isnan(result.dv[at]) == (head_1 && row <= 1));
  }
}

TEST_CASE("dout of another size is rejected by name") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 2, .Nk = 3, .D = 2};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.dout.pop_back();
  CHECK_THROWS_AS(oracle(inputs, shape, {}), std::invalid_argument);
  CHECK_THROWS_WITH(oracle(inputs, shape, {}), Catch::Matchers::ContainsSubstring("dout has 3 elements: must have 4"));
}
