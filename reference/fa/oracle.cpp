#include "fa/oracle.h"

#include <cmath>

namespace fa {
namespace {

template <class T>
using Operand = std::span<const T>;  // T: float or double

template <class T>
Operand<T> row_of(Operand<T> matrix, Index row, Index D) {
  return matrix.subspan(static_cast<std::size_t>(row * D), static_cast<std::size_t>(D));
}

template <class T>
double dot(Operand<T> a, Operand<T> b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += double(a[d]) * double(b[d]);
  return sum;
}

// e^(score − m). The difference −inf − −inf is a NaN, but a score of −inf weighs nothing, whatever the maximum is.
double weight(double score, double m) { return score == negative_infinity ? 0.0 : std::exp(score - m); }

struct SoftmaxRow {
  double m = negative_infinity;
  double l = 0.0;
  std::vector<double> p;  // of the visible keys: scores, until their weights replace them
};

// `row` counts the query rows of all heads: (b · H + h) · Nq + i.
template <class T>
SoftmaxRow softmax_row(Operand<T> q, Operand<T> k, const Shape& shape, const Options& options, Index row) {
  const double scale = scale_of(shape, options);
  const Index first_key = row / shape.Nq * shape.Nk;
  SoftmaxRow softmax;
  for (Index j = 0; j < visible_keys(shape, options, row % shape.Nq); ++j) {
    const double score = scale * dot(row_of(q, row, shape.D), row_of(k, first_key + j, shape.D));
    // fmax would drop a NaN; this keeps it.
    if (std::isnan(score) || score > softmax.m) softmax.m = score;
    softmax.p.push_back(score);
  }
  for (double& p : softmax.p) {
    p = weight(p, softmax.m);
    softmax.l += p;
  }
  // l is zero when no key is seen, or when every score is −inf: the weights stay zero.
  if (softmax.l != 0.0) {
    for (double& p : softmax.p) p /= softmax.l;
  }
  return softmax;
}

template <class T>
ForwardOracle forward(Operand<T> q, Operand<T> k, Operand<T> v, const Shape& shape, const Options& options) {
  validate(shape, options);
  require_elements("q", static_cast<Index>(q.size()), query_elements(shape));
  require_elements("k", static_cast<Index>(k.size()), key_elements(shape));
  require_elements("v", static_cast<Index>(v.size()), key_elements(shape));
  ForwardOracle result;
  result.out.assign(static_cast<std::size_t>(query_elements(shape)), 0.0);
  for (Index row = 0; row < query_rows(shape); ++row) {
    const SoftmaxRow softmax = softmax_row(q, k, shape, options, row);
    const Index first_key = row / shape.Nq * shape.Nk;
    for (std::size_t j = 0; j < softmax.p.size(); ++j) {
      const Operand<T> v_row = row_of(v, first_key + static_cast<Index>(j), shape.D);
      for (Index d = 0; d < shape.D; ++d) {
        result.out[static_cast<std::size_t>(row * shape.D + d)] +=
            softmax.p[j] * double(v_row[static_cast<std::size_t>(d)]);
      }
    }
    result.m.push_back(softmax.m);
    result.l.push_back(softmax.l);
    result.lse.push_back(softmax.l == 0.0 ? negative_infinity : softmax.m + std::log(softmax.l));
  }
  return result;
}

}  // namespace

ForwardOracle attention_forward_oracle(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                       const Shape& shape, const Options& options) {
  return forward(q, k, v, shape, options);
}

ForwardOracle attention_forward_oracle(std::span<const double> q, std::span<const double> k, std::span<const double> v,
                                       const Shape& shape, const Options& options) {
  return forward(q, k, v, shape, options);
}

BackwardOracle attention_backward_oracle(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                                         std::span<const float> dout, const Shape& shape, const Options& options) {
  const ForwardOracle forward = attention_forward_oracle(q, k, v, shape, options);
  require_elements("dout", static_cast<Index>(dout.size()), query_elements(shape));
  const double scale = scale_of(shape, options);
  BackwardOracle result;
  result.dq.assign(q.size(), 0.0);
  result.dk.assign(k.size(), 0.0);
  result.dv.assign(v.size(), 0.0);

  for (Index row = 0; row < query_rows(shape); ++row) {
    const SoftmaxRow softmax = softmax_row(q, k, shape, options, row);
    const Index first_key = row / shape.Nq * shape.Nk;
    const Operand<float> dout_row = row_of(dout, row, shape.D);
    const std::size_t at_query = static_cast<std::size_t>(row * shape.D);
    double delta = 0.0;
    for (std::size_t d = 0; d < dout_row.size(); ++d) delta += double(dout_row[d]) * forward.out[at_query + d];

    for (std::size_t j = 0; j < softmax.p.size(); ++j) {
      const Index key = first_key + static_cast<Index>(j);
      const std::size_t at_key = static_cast<std::size_t>(key * shape.D);
      const double dp = dot(dout_row, row_of(v, key, shape.D));
      const double ds = softmax.p[j] * (dp - delta);
      for (std::size_t d = 0; d < dout_row.size(); ++d) {
        result.dv[at_key + d] += softmax.p[j] * double(dout_row[d]);
        result.dq[at_query + d] += scale * ds * double(k[at_key + d]);
        result.dk[at_key + d] += scale * ds * double(q[at_query + d]);
      }
    }
  }
  return result;
}

}  // namespace fa
