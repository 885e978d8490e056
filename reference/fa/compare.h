// The comparison of a result with the oracle. It cannot be fooled in the ways that comparisons are (each has a test in
// reference/tests/test_compare.cpp): a NaN never passes for a number, an unwritten element never passes, an output of
// zeros fails a norm-wise bound, and the number of compared elements is checked.

#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "fa/shape.h"

namespace fa {

// One dimension of a result, for messages: {"i", Nq}.
struct Extent {
  std::string_view name;
  Index size;
};

// An element passes when |got − expected| ≤ absolute + relative · |expected|;
// the whole passes when, besides, ‖got − expected‖₂ ≤ normwise · ‖expected‖₂ over the elements that are finite.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  double normwise = 0.0;
};

struct Comparison {
  bool ok = false;
  Index compared = 0;   // elements that were looked at
  Index failed = 0;     // of them, those that do not pass by themselves
  Index unwritten = 0;  // of them, those that hold poison
  Index worst = -1;     // the element with the largest error in units of what is allowed; −1 if all agree exactly
  double max_absolute_error = 0.0;
  double max_relative_error = 0.0;
  double normwise_error = 0.0;  // ‖got − expected‖ / ‖expected‖
  std::string message;          // one line: the worst place with expected and got, how many differ, the norm-wise error
};

// Infinite and NaN expectations must be met exactly: inf by the same inf, NaN by any NaN that was computed.
// Throws std::invalid_argument if `expected` is not as large as the product of the extents: the test is wrong then. A
// `got` of another size is a failed comparison.
Comparison compare(std::string_view name, std::span<const float> got, std::span<const double> expected,
                   std::initializer_list<Extent> extents, Tolerance tolerance);

// What rounding alone may do to attention in float (u = 2⁻²⁴), where query i sees key j:
//   error of a score      e_ij = 4 u (sqrt(D) + 2) · |scale| Σ_d |q_id k_jd|
//   error of an element   E_id = Σ_j p_ij (e_ij |v_jd − out_id| + u (Nk + 32) |v_jd|)
// The factor of e_ij is the derivative, ∂out_id / ∂s_ij = p_ij (v_jd − out_id). sqrt(D) is what rounding errors of
// random sign add up to, and 4 makes room for their spread. Nk is the worst case: small weights that are added to a
// large sum may all be rounded in the same direction. What is not finite is left out.
//
// absolute = max E_id, and normwise = ‖E‖₂ / ‖out‖₂, at most 1/2: an output of zeros never passes.
Tolerance forward_tolerance(std::span<const float> q,     // (B, H, Nq, D)
                            std::span<const float> k,     // (B, H, Nk, D)
                            std::span<const float> v,     // (B, H, Nk, D)
                            std::span<const double> out,  // (B, H, Nq, D), of the oracle
                            const Shape& shape, const Options& options);

// The same for lse = m + ln l: absolute = max e_ij + u (Nk + 32), relative = 4 u, normwise = 1/2. Both throw
// std::invalid_argument for a shape or options that fa::validate rejects, and for an operand of another size.
Tolerance lse_tolerance(std::span<const float> q,  // (B, H, Nq, D)
                        std::span<const float> k,  // (B, H, Nk, D)
                        const Shape& shape, const Options& options);

}  // namespace fa
