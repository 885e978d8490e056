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

struct BackwardOracle;  // fa/oracle.h

// One dimension of a result, for messages: {"i", Nq}.
struct Extent {
  std::string_view name;
  Index size;
};

// An element passes when |got − expected| ≤ absolute + relative · |expected|;
// the whole passes when, besides, ‖got − expected‖₂ ≤ normwise · ‖expected‖₂ over the elements that are finite. Where
// all of them are expected to be 0 there is nothing to compare with, and the elements decide.
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
//
// Where scores, weights and out are rounded to half precision, `unit` is the unit roundoff of that format (fa/half.h).
// Then e_ij grows by unit · |s_ij|, and E_id by unit · (Σ_j p_ij |v_jd| + |out_id|).
Tolerance forward_tolerance(std::span<const float> q,     // (B, H, Nq, D)
                            std::span<const float> k,     // (B, H, Nk, D)
                            std::span<const float> v,     // (B, H, Nk, D)
                            std::span<const double> out,  // (B, H, Nq, D), of the oracle
                            const Shape& shape, const Options& options, double unit = 0.0);

// The same for lse = m + ln l: absolute = max e_ij + u (Nk + 32), relative = 4 u, normwise = 1/2. All throw
// std::invalid_argument for a shape or options that fa::validate rejects, and for an operand of another size.
Tolerance lse_tolerance(std::span<const float> q,  // (B, H, Nq, D)
                        std::span<const float> k,  // (B, H, Nk, D)
                        const Shape& shape, const Options& options);

struct BackwardTolerance {
  Tolerance dq, dk, dv;
};

// The same for the gradients. With p, dp, delta, ds of the oracle and a_ij = Σ_d |dout_id v_jd|:
//   relative error of a weight   r_ij = e_ij + Σ_n p_in e_in + u (Nk + 32)
//   error of dp                  g_ij = 4 u (sqrt(D) + 2) a_ij
//   error of delta               h_i = Σ_n p_in (e_in |dp_in − delta_i| + g_in + u (Nk + 32) a_in)
//   error of ds                  F_ij = p_ij (r_ij |dp_ij − delta_i| + g_ij + h_i)
//   of an element of dv          Σ_i p_ij |dout_id| (r_ij + u (Nq + 32))
//                    dq          |scale| Σ_j (F_ij + u (Nk + 32) |ds_ij|) |k_jd|
//                    dk          |scale| Σ_i (F_ij + u (Nq + 32) |ds_ij|) |q_id|
// e_in |dp_in − delta_i| is again a derivative, ∂delta_i / ∂s_in = p_in (dp_in − delta_i). The scores of the forward
// pass and those that a backward pass computes again may differ, so their errors do not cancel.
//
// absolute = the largest. normwise: gradients may cancel, as those of a row whose dp are all equal, so that nothing but
// rounding is left of them. The part of the errors that is there with e = 0, E0, therefore passes however small the
// gradient is; of the rest, E1, at most 1/2: normwise = ‖E0‖₂ / ‖gradient‖₂ + min(1/2, ‖E1‖₂ / ‖gradient‖₂).
BackwardTolerance backward_tolerance(std::span<const float> q,        // (B, H, Nq, D)
                                     std::span<const float> k,        // (B, H, Nk, D)
                                     std::span<const float> v,        // (B, H, Nk, D)
                                     std::span<const float> dout,     // (B, H, Nq, D)
                                     const BackwardOracle& expected,  // of the oracle
                                     const Shape& shape, const Options& options);

}  // namespace fa
