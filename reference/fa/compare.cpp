#include "fa/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "fa/oracle.h"
#include "fa/poison.h"

namespace fa {
namespace {

constexpr double unit_roundoff = 0x1p-24;  // of float
constexpr double infinity = std::numeric_limits<double>::infinity();

// "out[b=0, h=1, i=3, d=2]" for a flat index.
std::string place(std::string_view name, Index index, std::initializer_list<Extent> extents) {
  std::string text;
  for (auto extent = std::rbegin(extents); extent != std::rend(extents); ++extent) {
    text = std::string(extent->name) + "=" + std::to_string(index % extent->size) + (text.empty() ? "" : ", ") + text;
    index /= extent->size;
  }
  return std::string(name) + "[" + text + "]";
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN says nothing
  std::ostringstream text;
  text.precision(digits);
  text << value;
  return text.str();
}

std::string value_text(double value) { return number(value, 9); }  // 9 digits tell any two floats apart
std::string error_text(double error) { return number(error, 3); }

// How far `got` is off, in units of what is allowed: at most 1 passes. NaN and infinities must be met exactly.
double badness(float got, double expected, const Tolerance& tolerance) {
  if (is_poison(got)) return infinity;
  if (std::isnan(expected)) return std::isnan(got) ? 0.0 : infinity;
  const double value = double(got);
  if (value == expected) return 0.0;
  const double error = std::abs(value - expected);
  if (!std::isfinite(error)) return infinity;
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(expected);
  return allowed > 0.0 ? error / allowed : infinity;
}

struct Score {
  double value;
  double error;  // e_ij of the header
};

// Of a query row and a key row, each counted over all heads.
Score score_of(std::span<const float> q, std::span<const float> k, Index query, Index key, const Shape& shape,
               const Options& options) {
  double sum = 0.0, magnitude = 0.0;
  for (Index d = 0; d < shape.D; ++d) {
    const double product = double(q[static_cast<std::size_t>(query * shape.D + d)]) *
                           double(k[static_cast<std::size_t>(key * shape.D + d)]);
    sum += product;
    magnitude += std::abs(product);
  }
  const double scale = scale_of(shape, options);
  return {scale * sum, 4.0 * unit_roundoff * (std::sqrt(double(shape.D)) + 2.0) * std::abs(scale) * magnitude};
}

// Relative, of a sum whose terms may all be rounded in the same direction.
double sum_error(Index terms) { return unit_roundoff * (double(terms) + 32.0); }

// The errors of a gradient's elements, in two parts: those of rounding alone, and those that come from the scores.
struct GradientErrors {
  std::vector<double> rounding, scores;

  explicit GradientErrors(const std::vector<double>& gradient) : rounding(gradient.size()), scores(gradient.size()) {}

  Tolerance tolerance(const std::vector<double>& gradient) const {
    Tolerance result;
    double rounding_squares = 0.0, score_squares = 0.0, gradient_squares = 0.0;
    for (std::size_t at = 0; at < gradient.size(); ++at) {
      const double error = rounding[at] + scores[at];
      if (!std::isfinite(error) || !std::isfinite(gradient[at])) continue;
      result.absolute = std::max(result.absolute, error);
      rounding_squares += rounding[at] * rounding[at];
      score_squares += scores[at] * scores[at];
      gradient_squares += gradient[at] * gradient[at];
    }
    if (gradient_squares > 0.0) {
      result.normwise =
          std::sqrt(rounding_squares / gradient_squares) + std::min(0.5, std::sqrt(score_squares / gradient_squares));
    }
    return result;
  }
};

}  // namespace

Comparison compare(std::string_view name, std::span<const float> got, std::span<const double> expected,
                   std::initializer_list<Extent> extents, Tolerance tolerance) {
  Index elements = 1;
  for (const Extent& extent : extents) elements *= extent.size;
  if (static_cast<Index>(expected.size()) != elements) {
    throw std::invalid_argument("expected has " + std::to_string(expected.size()) + " elements: the extents of " +
                                std::string(name) + " say " + std::to_string(elements));
  }
  Comparison result;
  if (got.size() != expected.size()) {
    result.message = std::string(name) + " has " + std::to_string(got.size()) + " elements, expected " +
                     std::to_string(expected.size());
    return result;
  }

  double worst_badness = 0.0, error_squares = 0.0, expected_squares = 0.0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    ++result.compared;
    if (is_poison(got[at])) ++result.unwritten;
    const double bad = badness(got[at], expected[at], tolerance);
    if (bad > 1.0) ++result.failed;
    if (bad > worst_badness) {
      worst_badness = bad;
      result.worst = static_cast<Index>(at);
    }
    const double error = std::abs(double(got[at]) - expected[at]);
    if (!std::isfinite(error)) continue;
    result.max_absolute_error = std::max(result.max_absolute_error, error);
    if (expected[at] != 0.0) {
      result.max_relative_error = std::max(result.max_relative_error, error / std::abs(expected[at]));
    }
    error_squares += error * error;
    expected_squares += expected[at] * expected[at];
  }
  if (error_squares > 0.0) result.normwise_error = std::sqrt(error_squares / expected_squares);  // inf if all are zero

  const bool whole_passes =
      expected_squares == 0.0 || std::sqrt(error_squares) <= tolerance.normwise * std::sqrt(expected_squares);
  result.ok = result.failed == 0 && whole_passes;
  std::ostringstream message;
  if (result.worst < 0) {
    message << name << ": all " << result.compared << " values agree exactly";
  } else {
    const std::size_t at = static_cast<std::size_t>(result.worst);
    message << place(name, result.worst, extents) << ": expected " << value_text(expected[at]) << ", got "
            << (is_poison(got[at]) ? "poison" : value_text(double(got[at]))) << " (";
    if (result.failed > 0) {
      message << result.failed << " of " << result.compared << " values differ";
    } else {
      message << "each of " << result.compared << " values is within its tolerance, the whole is not";
    }
    if (result.unwritten > 0) {
      message << ", " << result.unwritten << " hold poison: never written, or computed from what was never written";
    }
    // Of NaN and poison it says nothing, since it is taken over the elements that are finite; nor of zeros.
    if (std::isfinite(double(got[at]) - expected[at]) && expected_squares > 0.0) {
      message << "; norm-wise error " << error_text(result.normwise_error) << ", allowed "
              << error_text(tolerance.normwise);
    }
    message << ")";
  }
  result.message = message.str();
  return result;
}

Tolerance forward_tolerance(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                            std::span<const double> out, const Shape& shape, const Options& options, double unit) {
  const std::vector<double> lse = attention_forward_oracle(q, k, v, shape, options).lse;
  require_elements("out", static_cast<Index>(out.size()), query_elements(shape));
  std::vector<double> errors(out.size(), 0.0);  // E_id of the header
  for (Index query = 0; query < query_rows(shape); ++query) {
    const Index first_key = query / shape.Nq * shape.Nk;
    for (Index j = 0; j < visible_keys(shape, options, query % shape.Nq); ++j) {
      const Score score = score_of(q, k, query, first_key + j, shape, options);
      const double p = std::exp(score.value - lse[static_cast<std::size_t>(query)]);
      if (p == 0.0) continue;  // its error may be infinite, and 0 · inf is a NaN
      for (Index d = 0; d < shape.D; ++d) {
        const std::size_t at = static_cast<std::size_t>(query * shape.D + d);
        const double value = v[static_cast<std::size_t>((first_key + j) * shape.D + d)];
        errors[at] += p * ((score.error + unit * std::abs(score.value)) * std::abs(value - out[at]) +
                           (sum_error(shape.Nk) + unit) * std::abs(value));
      }
    }
  }
  for (std::size_t at = 0; at < out.size(); ++at) errors[at] += unit * std::abs(out[at]);
  Tolerance tolerance;
  double error_squares = 0.0, out_squares = 0.0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (!std::isfinite(errors[at]) || !std::isfinite(out[at])) continue;
    tolerance.absolute = std::max(tolerance.absolute, errors[at]);
    error_squares += errors[at] * errors[at];
    out_squares += out[at] * out[at];
  }
  if (out_squares > 0.0) tolerance.normwise = std::min(0.5, std::sqrt(error_squares / out_squares));
  return tolerance;
}

Tolerance lse_tolerance(std::span<const float> q, std::span<const float> k, const Shape& shape,
                        const Options& options) {
  validate(shape, options);
  require_elements("q", static_cast<Index>(q.size()), query_elements(shape));
  require_elements("k", static_cast<Index>(k.size()), key_elements(shape));
  double largest = 0.0;
  for (Index query = 0; query < query_rows(shape); ++query) {
    const Index first_key = query / shape.Nq * shape.Nk;
    for (Index j = 0; j < visible_keys(shape, options, query % shape.Nq); ++j) {
      const double error = score_of(q, k, query, first_key + j, shape, options).error;
      if (std::isfinite(error)) largest = std::max(largest, error);
    }
  }
  return {largest + sum_error(shape.Nk), 4.0 * unit_roundoff, 0.5};
}

BackwardTolerance backward_tolerance(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                     std::span<const float> dout, const BackwardOracle& expected, const Shape& shape,
                                     const Options& options) {
  const ForwardOracle forward = attention_forward_oracle(q, k, v, shape, options);
  require_elements("dout", static_cast<Index>(dout.size()), query_elements(shape));
  require_elements("dq", static_cast<Index>(expected.dq.size()), query_elements(shape));
  require_elements("dk", static_cast<Index>(expected.dk.size()), key_elements(shape));
  require_elements("dv", static_cast<Index>(expected.dv.size()), key_elements(shape));

  // One query and one key, with the names of the header.
  struct Pair {
    std::size_t at_key;  // of the first element of the key
    double e, p, gap;    // gap: dp − delta
    double g, a;
  };
  const double scale = std::abs(double(scale_of(shape, options)));
  const double dot_error = 4.0 * unit_roundoff * (std::sqrt(double(shape.D)) + 2.0);
  const double sum_over_keys = sum_error(shape.Nk), sum_over_queries = sum_error(shape.Nq);
  GradientErrors dq(expected.dq), dk(expected.dk), dv(expected.dv);
  for (Index query = 0; query < query_rows(shape); ++query) {
    const std::size_t at_query = static_cast<std::size_t>(query * shape.D);
    double delta = 0.0;
    for (std::size_t d = 0; d < std::size_t(shape.D); ++d)
      delta += double(dout[at_query + d]) * forward.out[at_query + d];

    std::vector<Pair> pairs;
    for (Index j = 0; j < visible_keys(shape, options, query % shape.Nq); ++j) {
      const Index key = query / shape.Nq * shape.Nk + j;
      const Score score = score_of(q, k, query, key, shape, options);
      const double p = std::exp(score.value - forward.lse[static_cast<std::size_t>(query)]);
      if (p == 0.0) continue;  // its error may be infinite, and 0 · inf is a NaN
      const std::size_t at_key = static_cast<std::size_t>(key * shape.D);
      double dp = 0.0, a = 0.0;
      for (std::size_t d = 0; d < std::size_t(shape.D); ++d) {
        const double product = double(dout[at_query + d]) * double(v[at_key + d]);
        dp += product;
        a += std::abs(product);
      }
      pairs.push_back({at_key, score.error, p, dp - delta, dot_error * a, a});
    }

    double score_error = 0.0, delta_scores = 0.0, delta_rounding = 0.0;
    for (const Pair& pair : pairs) {
      score_error += pair.p * pair.e;
      delta_scores += pair.p * pair.e * std::abs(pair.gap);
      delta_rounding += pair.p * (pair.g + sum_over_keys * pair.a);
    }
    for (const auto& [at_key, e, p, gap, g, a] : pairs) {
      const double weight_scores = e + score_error, ds = p * std::abs(gap);
      const double ds_scores = ds * weight_scores + p * delta_scores;
      const double ds_rounding = ds * sum_over_keys + p * (g + delta_rounding);
      for (std::size_t d = 0; d < std::size_t(shape.D); ++d) {
        const double dout_d = std::abs(double(dout[at_query + d]));
        const double q_d = scale * std::abs(double(q[at_query + d])), k_d = scale * std::abs(double(k[at_key + d]));
        dv.scores[at_key + d] += p * dout_d * weight_scores;
        dv.rounding[at_key + d] += p * dout_d * (sum_over_keys + sum_over_queries);
        dq.scores[at_query + d] += ds_scores * k_d;
        dq.rounding[at_query + d] += (ds_rounding + sum_over_keys * ds) * k_d;
        dk.scores[at_key + d] += ds_scores * q_d;
        dk.rounding[at_key + d] += (ds_rounding + sum_over_queries * ds) * q_d;
      }
    }
  }
  return {dq.tolerance(expected.dq), dk.tolerance(expected.dk), dv.tolerance(expected.dv)};
}

}  // namespace fa
