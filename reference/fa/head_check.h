// Are the gradients of attention right? Two of the heads, compared with the oracle: what is timed or profiled must be,
// and at sizes where the oracle of the whole would take hours. See row_check.h for the forward pass.

#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/compare.h"
#include "fa/device.h"
#include "fa/inputs.h"
#include "fa/oracle.h"
#include "fa/shape.h"

namespace fa {

// The oracle of the first and of the last head, for any number of results. An exact head of N queries and keys takes
// about 40 N² D operations.
class HeadCheck {
 public:
  // Keeps copies of nothing but these two heads' gradients. Throws std::invalid_argument as the oracle does.
  HeadCheck(const Inputs& inputs, const Shape& shape, const Options& options) : shape_(shape) {
    const Shape one{.B = 1, .H = 1, .Nq = shape.Nq, .Nk = shape.Nk, .D = shape.D};
    const Index queries = query_elements(one), keys = key_elements(one);
    for (const Index head : {Index{0}, heads(shape) - 1}) {
      if (!heads_.empty() && heads_.back().number == head) continue;  // there is only one
      const auto q = part(inputs.q, head, queries), k = part(inputs.k, head, keys), v = part(inputs.v, head, keys);
      const auto dout = part(inputs.dout, head, queries);
      const BackwardOracle oracle = attention_backward_oracle(q, k, v, dout, one, options);
      heads_.push_back({head, oracle, backward_tolerance(q, k, v, dout, oracle, one, options)});
    }
  }

  // Throws std::runtime_error with `what`, the head, the place, expected and got. Returns how many rows of the
  // gradients it looked at.
  int check(std::string_view what,
            const DeviceBuffer<float>& dq,  // (B, H, Nq, D)
            const DeviceBuffer<float>& dk,  // (B, H, Nk, D)
            const DeviceBuffer<float>& dv   // (B, H, Nk, D)
  ) const {
    for (const Head& head : heads_) {
      check(what, "dq", dq, "i", shape_.Nq, head.number, head.exact.dq, head.tolerance.dq);
      check(what, "dk", dk, "j", shape_.Nk, head.number, head.exact.dk, head.tolerance.dk);
      check(what, "dv", dv, "j", shape_.Nk, head.number, head.exact.dv, head.tolerance.dv);
    }
    return static_cast<int>(heads_.size()) * static_cast<int>(shape_.Nq + 2 * shape_.Nk);
  }

 private:
  struct Head {
    Index number;
    BackwardOracle exact;
    BackwardTolerance tolerance;
  };

  static std::span<const float> part(std::span<const float> all, Index head, Index elements) {
    return all.subspan(static_cast<std::size_t>(head * elements), static_cast<std::size_t>(elements));
  }

  void check(std::string_view what, std::string_view name, const DeviceBuffer<float>& gradient,
             std::string_view row_name, Index rows, Index head, const std::vector<double>& expected,
             const Tolerance& tolerance) const {
    const Index elements = rows * shape_.D;
    const std::vector<float> got = gradient.to_host(head * elements, elements);
    const Comparison comparison = compare(name, got, expected, {{row_name, rows}, {"d", shape_.D}}, tolerance);
    if (comparison.ok) return;
    throw std::runtime_error(std::string(what) + ": wrong in head " + std::to_string(head) + ": " + comparison.message);
  }

  Shape shape_;
  std::vector<Head> heads_;
};

}  // namespace fa
