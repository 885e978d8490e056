// What every attention function promises in a random case (fa/property.h), whatever its loops are: one that computes
// the forward pass, or gradients. Each returns what is wrong, or nothing.

#pragma once

#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "fa/byte_counts.h"
#include "fa/compare.h"
#include "fa/inputs.h"
#include "fa/poison.h"
#include "fa/property.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace fa {

struct ForwardResult {
  std::vector<float> out;  // (B, H, Nq, D)
  std::vector<float> lse;  // (B, H, Nq), or empty where the function has none
};
using Forward = std::function<ForwardResult(const Inputs&, const Shape&, const Options&, const Tiles&)>;
using OutTolerance =
    std::function<Tolerance(const Inputs&, const std::vector<double>& out, const Shape&, const Options&)>;

// What forward_tolerance allows.
Tolerance float_out_tolerance(const Inputs& inputs, const std::vector<double>& out, const Shape& shape,
                              const Options& options);

// It agrees with the oracle; one row of it is that of a call with the keys that the row sees, without a mask; and the
// same vector added to every key shifts the scores of a row by the same number, so out is the same.
std::string forward_fault(const RandomCase& one, const Inputs& inputs, const Forward& forward,
                          const OutTolerance& tolerance = float_out_tolerance);

struct BackwardResult {
  std::vector<float> dq;      // (B, H, Nq, D)
  std::vector<float> dk, dv;  // (B, H, Nk, D)
};
using Backward = std::function<BackwardResult(const Inputs&, const Shape&, const Options&, const Tiles&)>;

// They agree with the oracle, and are linear in dout: twice dout gives twice the gradients, exactly.
std::string backward_fault(const RandomCase& one, const Inputs& inputs, const Backward& backward);

// Of bytes: what the function moved, beside the formula.
std::string traffic_fault(const Traffic& counted, const Traffic& formula);

// Some element holds something else than poison.
template <class T>
std::string written_fault(std::string_view name, const std::vector<T>& elements) {
  for (const T& element : elements) {
    if (!is_poison(element)) return std::string(name) + " was written, although the call was rejected";
  }
  return "";
}

// `call` does not throw an Error with `text` in its message.
template <class Error, class Call>
std::string accepted_fault(Call call, const std::string& text) {
  try {
    call();
  } catch (const NotStarted&) {
    throw;
  } catch (const Error& error) {
    const std::string said = error.what();
    return said.find(text) != std::string::npos ? "" : "the rejection says '" + said + "', without '" + text + "'";
  }
  return "accepted, although it should be rejected: " + text;
}

}  // namespace fa
