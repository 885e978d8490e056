// How exact is attention in half precision? The error of a result in the format T, what standard attention in the same
// format gets for comparison, and what rounding may do to V1 on tensor cores. Operands are floats that T holds exactly.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "fa/compare.h"
#include "fa/half.h"
#include "fa/oracle.h"
#include "fa/shape.h"

namespace fa {

// Of a result, against the oracle, over all elements. A NaN anywhere is a NaN in both.
struct AbsoluteError {
  double largest = 0.0;
  double root_mean_square = 0.0;
};

inline AbsoluteError absolute_error(std::span<const float> got, std::span<const double> expected) {
  require_elements("got", static_cast<Index>(got.size()), static_cast<Index>(expected.size()));
  AbsoluteError error;
  double squares = 0.0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    const double difference = std::abs(double(got[at]) - expected[at]);
    if (!(difference <= error.largest)) error.largest = difference;
    squares += difference * difference;
  }
  if (std::isnan(squares)) error.largest = squares;
  if (!got.empty()) error.root_mean_square = std::sqrt(squares / double(got.size()));
  return error;
}

// An error may be at most twice the yardstick's, plus this: where the yardstick is exact by chance, ours need not be.
template <HalfPrecision T>
inline constexpr double accuracy_floor = unit_roundoff<T> / 64;

// The yardstick: standard attention as three kernels in half precision compute it, with sums and the softmax in float.
// What goes through HBM between them is rounded to T: S after scaling, P, and out.
template <HalfPrecision T>
std::vector<float> standard_attention_in_half(std::span<const float> q,  // (B, H, Nq, D)
                                              std::span<const float> k,  // (B, H, Nk, D)
                                              std::span<const float> v,  // (B, H, Nk, D)
                                              const Shape& shape, const Options& options) {
  validate(shape, options);
  require_elements("q", static_cast<Index>(q.size()), query_elements(shape));
  require_elements("k", static_cast<Index>(k.size()), key_elements(shape));
  require_elements("v", static_cast<Index>(v.size()), key_elements(shape));
  const auto rounded_to_t = [](float x) { return float(T(x)); };
  const float scale = scale_of(shape, options);
  std::vector<float> out(q.size()), p(static_cast<std::size_t>(shape.Nk));
  for (Index query = 0; query < query_rows(shape); ++query) {
    const Index first_key = query / shape.Nq * shape.Nk, seen = visible_keys(shape, options, query % shape.Nq);
    const auto element = [&](std::span<const float> matrix, Index row, Index d) {
      return matrix[static_cast<std::size_t>(row * shape.D + d)];
    };
    const auto weight = [&](Index j) -> float& { return p[static_cast<std::size_t>(j)]; };
    float m = -std::numeric_limits<float>::infinity(), l = 0.0f;
    for (Index j = 0; j < seen; ++j) {
      float dot = 0.0f;
      for (Index d = 0; d < shape.D; ++d) dot += element(q, query, d) * element(k, first_key + j, d);
      weight(j) = rounded_to_t(scale * dot);
      m = std::max(m, weight(j));
    }
    for (Index j = 0; j < seen; ++j) l += weight(j) = std::exp(weight(j) - m);
    for (Index j = 0; j < seen; ++j) weight(j) = rounded_to_t(weight(j) / l);
    for (Index d = 0; d < shape.D; ++d) {
      float sum = 0.0f;
      for (Index j = 0; j < seen; ++j) sum += weight(j) * element(v, first_key + j, d);
      out[static_cast<std::size_t>(query * shape.D + d)] = rounded_to_t(sum);
    }
  }
  return out;
}

// What rounding may do to attention with sums in float, weights that are rounded to T for P V, and out in T. To the
// errors of forward_tolerance this adds, with u of T,
//   of the weights   u Σ_j p_ij |v_jd|, and 2⁻²⁵ Nk max |v| for those that are too small for all of their digits in
//   fp16 of out           u |out_id|, which is `relative`
template <HalfPrecision T>
Tolerance half_tolerance(std::span<const float> q,     // (B, H, Nq, D)
                         std::span<const float> k,     // (B, H, Nk, D)
                         std::span<const float> v,     // (B, H, Nk, D)
                         std::span<const double> out,  // (B, H, Nq, D), of the oracle
                         const Shape& shape, const Options& options) {
  constexpr double u = unit_roundoff<T>;
  Tolerance tolerance = forward_tolerance(q, k, v, out, shape, options);
  std::vector<float> size_of_v(v.size());
  double largest_v = 0.0;
  for (std::size_t at = 0; at < v.size(); ++at) {
    size_of_v[at] = std::abs(v[at]);
    if (std::isfinite(v[at])) largest_v = std::max(largest_v, double(size_of_v[at]));
  }
  const std::vector<double> sizes = attention_forward_oracle(q, k, size_of_v, shape, options).out;  // Σ_j p_ij |v_jd|
  const double tiny = 0x1p-25 * double(shape.Nk) * largest_v;
  double largest_error = 0.0, error_squares = 0.0, out_squares = 0.0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (!std::isfinite(sizes[at]) || !std::isfinite(out[at])) continue;
    const double of_weights = u * sizes[at] + tiny, all = of_weights + u * std::abs(out[at]);
    largest_error = std::max(largest_error, of_weights);
    error_squares += all * all;
    out_squares += out[at] * out[at];
  }
  tolerance.absolute += largest_error;
  tolerance.relative = u;
  if (out_squares > 0.0) {
    tolerance.normwise = std::min(0.5, tolerance.normwise + std::sqrt(error_squares / out_squares));
  }
  return tolerance;
}

}  // namespace fa
