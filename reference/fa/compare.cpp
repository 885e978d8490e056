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

double sum_error(const Shape& shape) { return unit_roundoff * (double(shape.Nk) + 32.0); }

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

  const bool whole_passes = std::sqrt(error_squares) <= tolerance.normwise * std::sqrt(expected_squares);
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
    // Of NaN and poison it says nothing: it is taken over the elements that are finite.
    if (std::isfinite(double(got[at]) - expected[at])) {
      message << "; norm-wise error " << error_text(result.normwise_error) << ", allowed "
              << error_text(tolerance.normwise);
    }
    message << ")";
  }
  result.message = message.str();
  return result;
}

Tolerance forward_tolerance(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                            std::span<const double> out, const Shape& shape, const Options& options) {
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
        errors[at] += p * (score.error * std::abs(value - out[at]) + sum_error(shape) * std::abs(value));
      }
    }
  }
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
  return {largest + sum_error(shape), 4.0 * unit_roundoff, 0.5};
}

}  // namespace fa
