#include "fa/attention_property.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "fa/oracle.h"

namespace fa {
namespace {

// Thousands of cases reach farther into the tails of rounding errors than a few do.
Tolerance widened(Tolerance tolerance, double factor) {
  tolerance.absolute *= factor;
  tolerance.relative *= factor;
  tolerance.normwise *= factor;
  return tolerance;
}
// Of out and lse. An output of zeros must never pass, so the norm-wise bound stays at most 1/2.
Tolerance widened_forward(Tolerance tolerance, double factor) {
  tolerance = widened(tolerance, factor);
  tolerance.normwise = std::min(0.5, tolerance.normwise);
  return tolerance;
}
constexpr double room = 4.0;

std::string differs(std::string_view name, std::span<const float> got, std::span<const double> expected,
                    std::initializer_list<Extent> extents, const Tolerance& tolerance) {
  const Comparison comparison = compare(name, got, expected, extents, tolerance);
  return comparison.ok ? "" : comparison.message;
}

std::vector<double> in_double(std::span<const float> values) { return {values.begin(), values.end()}; }

std::vector<float> rows_of(const std::vector<float>& all, Index first, Index count, Index D) {
  return {all.begin() + first * D, all.begin() + (first + count) * D};
}

// One query and the keys that it sees are attention too, a small one, without a mask.
std::string row_fault(const RandomCase& one, const Inputs& inputs, const ForwardResult& whole, const Forward& forward,
                      const OutTolerance& tolerance) {
  const auto& [B, H, Nq, Nk, D] = one.shape;
  const Index row = static_cast<Index>(one.seed) % query_rows(one.shape), first_key = row / Nq * Nk;
  const Shape shape{.Nk = visible_keys(one.shape, one.options, row % Nq), .D = D};
  const Options options{.causal = false, .scale = scale_of(one.shape, one.options)};
  const Inputs small{.q = rows_of(inputs.q, row, 1, D),
                     .k = rows_of(inputs.k, first_key, shape.Nk, D),
                     .v = rows_of(inputs.v, first_key, shape.Nk, D),
                     .dout = {}};
  const std::vector<double> expected = in_double(rows_of(whole.out, row, 1, D));
  return differs("out of row " + std::to_string(row) + ", with the keys alone that it sees",
                 forward(small, shape, options, one.tiles).out, expected, {{"d", D}},
                 widened_forward(tolerance(small, expected, shape, options), 2 * room));
}

// Numbers of few digits, so that the sum of a key and the shift is exact.
std::string shift_fault(const RandomCase& one, Inputs inputs, const Forward& forward, const OutTolerance& tolerance) {
  for (float& value : inputs.k) value = std::round(8 * value) / 8;
  Inputs shifted = inputs;
  for (std::size_t at = 0; at < shifted.k.size(); ++at) {
    shifted.k[at] += at % static_cast<std::size_t>(one.shape.D) % 2 == 0 ? 3.0f : -2.0f;
  }
  const ForwardResult before = forward(inputs, one.shape, one.options, one.tiles);
  const ForwardResult after = forward(shifted, one.shape, one.options, one.tiles);
  const std::vector<double> expected = in_double(before.out);
  const auto& [B, H, Nq, Nk, D] = one.shape;
  return differs("out, with all keys shifted", after.out, expected, {{"b", B}, {"h", H}, {"i", Nq}, {"d", D}},
                 widened_forward(tolerance(shifted, expected, one.shape, one.options), 2 * room));
}

}  // namespace

Tolerance float_out_tolerance(const Inputs& inputs, const std::vector<double>& out, const Shape& shape,
                              const Options& options) {
  return forward_tolerance(inputs.q, inputs.k, inputs.v, out, shape, options);
}

std::string forward_fault(const RandomCase& one, const Inputs& inputs, const Forward& forward,
                          const OutTolerance& tolerance) {
  const auto& [B, H, Nq, Nk, D] = one.shape;
  const ForwardOracle oracle = attention_forward_oracle(inputs.q, inputs.k, inputs.v, one.shape, one.options);
  const ForwardResult got = forward(inputs, one.shape, one.options, one.tiles);
  std::string fault = differs("out", got.out, oracle.out, {{"b", B}, {"h", H}, {"i", Nq}, {"d", D}},
                              widened_forward(tolerance(inputs, oracle.out, one.shape, one.options), room));
  if (fault.empty() && !got.lse.empty()) {
    fault = differs("lse", got.lse, oracle.lse, {{"b", B}, {"h", H}, {"i", Nq}},
                    widened_forward(lse_tolerance(inputs.q, inputs.k, one.shape, one.options), room));
  }
  const bool has_rows = query_rows(one.shape) > 0;
  if (fault.empty() && has_rows && one.seed % 3 == 0) fault = row_fault(one, inputs, got, forward, tolerance);
  if (fault.empty() && one.kind == CaseInputs::normal) fault = shift_fault(one, inputs, forward, tolerance);
  return fault;
}

std::string backward_fault(const RandomCase& one, const Inputs& inputs, const Backward& backward) {
  const BackwardOracle oracle =
      attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, one.shape, one.options);
  const BackwardTolerance tolerance =
      backward_tolerance(inputs.q, inputs.k, inputs.v, inputs.dout, oracle, one.shape, one.options);
  const BackwardResult got = backward(inputs, one.shape, one.options, one.tiles);
  const auto fault_of = [&](const char* name, const std::vector<float>& gradient, const std::vector<double>& expected,
                            Extent rows, const Tolerance& allowed) {
    const Shape& shape = one.shape;
    return differs(name, gradient, expected, {{"b", shape.B}, {"h", shape.H}, rows, {"d", shape.D}}, allowed);
  };
  std::string fault = fault_of("dv", got.dv, oracle.dv, {"j", one.shape.Nk}, widened(tolerance.dv, room));
  if (fault.empty()) fault = fault_of("dk", got.dk, oracle.dk, {"j", one.shape.Nk}, widened(tolerance.dk, room));
  if (fault.empty()) fault = fault_of("dq", got.dq, oracle.dq, {"i", one.shape.Nq}, widened(tolerance.dq, room));
  if (!fault.empty() || one.seed % 3 != 0) return fault;

  Inputs doubled = inputs;
  for (float& value : doubled.dout) value *= 2.0f;
  const BackwardResult twice = backward(doubled, one.shape, one.options, one.tiles);
  const auto expected = [](const std::vector<float>& gradient) {
    std::vector<double> result = in_double(gradient);
    for (double& value : result) value *= 2.0;
    return result;
  };
  const Tolerance exact{.absolute = 1e-35, .normwise = 1.0};  // numbers so small lose digits
  fault = fault_of("dv of twice dout", twice.dv, expected(got.dv), {"j", one.shape.Nk}, exact);
  if (fault.empty()) fault = fault_of("dk of twice dout", twice.dk, expected(got.dk), {"j", one.shape.Nk}, exact);
  if (fault.empty()) fault = fault_of("dq of twice dout", twice.dq, expected(got.dq), {"i", one.shape.Nq}, exact);
  return fault;
}

std::string traffic_fault(const Traffic& counted, const Traffic& formula) {
  if (counted == formula) return "";
  return "bytes: counted " + std::to_string(counted.read_bytes) + " read and " + std::to_string(counted.written_bytes) +
         " written, the formula says " + std::to_string(formula.read_bytes) + " and " +
         std::to_string(formula.written_bytes);
}

}  // namespace fa
