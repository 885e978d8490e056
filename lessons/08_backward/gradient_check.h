// The gradient check: central differences of the loss L = Σ dout · out, whose gradient by out is dout. They know
// nothing of the backward pass, only of the forward pass. In double, since a difference of two losses loses most of its
// digits.

#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "fa/inputs.h"
#include "fa/oracle.h"
#include "fa/shape.h"

namespace gradient_check {

// What the loss depends on, in double: a small step must not vanish in x + step.
struct Operands {
  std::vector<double> q, k, v;

  explicit Operands(const fa::Inputs& inputs)
      : q(inputs.q.begin(), inputs.q.end()), k(inputs.k.begin(), inputs.k.end()), v(inputs.v.begin(), inputs.v.end()) {}
};

template <class T>
double loss_of(std::span<const T> out, std::span<const float> dout) {
  double loss = 0.0;
  for (std::size_t at = 0; at < out.size(); ++at) loss += double(out[at]) * double(dout[at]);
  return loss;
}

// The loss by the forward pass of the oracle.
struct OracleLoss {
  std::vector<float> dout;
  fa::Shape shape;
  fa::Options options;

  double operator()(const Operands& operands) const {
    const auto forward = fa::attention_forward_oracle(operands.q, operands.k, operands.v, shape, options);
    return loss_of<double>(forward.out, dout);
  }
};

// (L(x + step) − L(x − step)) / (2 step), for each number x of q, k and v.
template <class Loss>
fa::BackwardOracle central_differences(Operands operands, const Loss& loss, double step) {
  const auto differences = [&](std::vector<double>& operand) {
    std::vector<double> result;
    // [central-differences]
    for (double& x : operand) {
      const double original = x;
      x = original + step;
      const double above = loss(operands);
      x = original - step;
      const double below = loss(operands);
      x = original;
      result.push_back((above - below) / (2.0 * step));
    }
    // [/central-differences]
    return result;
  };
  fa::BackwardOracle result;
  result.dq = differences(operands.q);
  result.dk = differences(operands.k);
  result.dv = differences(operands.v);
  return result;
}

// ‖got − expected‖₂ / ‖expected‖₂, over dq, dk and dv together.
template <class Gradients>
double relative_error(const Gradients& got, const fa::BackwardOracle& expected) {
  double errors = 0.0, squares = 0.0;
  const auto add = [&](const auto& got_part, const std::vector<double>& expected_part) {
    for (std::size_t at = 0; at < expected_part.size(); ++at) {
      const double error = double(got_part[at]) - expected_part[at];
      errors += error * error;
      squares += expected_part[at] * expected_part[at];
    }
  };
  add(got.dq, expected.dq);
  add(got.dk, expected.dk);
  add(got.dv, expected.dv);
  return std::sqrt(errors / squares);
}

}  // namespace gradient_check
