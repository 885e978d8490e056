// Attention in double precision, written a second time and otherwise than in fa/oracle.cpp: operands are doubles, so
// that they can be moved by a small step; indices have four dimensions; no maximum is subtracted, since log-sum-exp is
// built up key by key; the mask is its definition. Where both agree, a slip would have to be made twice.

#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "fa/inputs.h"
#include "fa/shape.h"

struct SecondOpinion {
  std::vector<double> q, k, v;
  fa::Shape shape;
  bool causal;
  double scale;

  SecondOpinion(const fa::Inputs& inputs, const fa::Shape& given_shape, const fa::Options& options)
      : q(inputs.q.begin(), inputs.q.end()),
        k(inputs.k.begin(), inputs.k.end()),
        v(inputs.v.begin(), inputs.v.end()),
        shape(given_shape),
        causal(options.causal),
        scale(options.scale ? double(*options.scale) : double(1.0f / std::sqrt(float(given_shape.D)))) {}

  std::size_t at_query(fa::Index b, fa::Index h, fa::Index i, fa::Index d) const {
    return std::size_t(((b * shape.H + h) * shape.Nq + i) * shape.D + d);
  }
  std::size_t at_key(fa::Index b, fa::Index h, fa::Index j, fa::Index d) const {
    return std::size_t(((b * shape.H + h) * shape.Nk + j) * shape.D + d);
  }
  double score(fa::Index b, fa::Index h, fa::Index i, fa::Index j) const {
    double sum = 0.0;
    for (fa::Index d = 0; d < shape.D; ++d) sum += q[at_query(b, h, i, d)] * k[at_key(b, h, j, d)] * scale;
    return sum;
  }
  bool sees(fa::Index i, fa::Index j) const { return !causal || j <= i + shape.Nk - shape.Nq; }

  // ln(e^a + e^b)
  static double log_add(double a, double b) {
    const double larger = a > b ? a : b, smaller = a > b ? b : a;
    return std::isinf(smaller) ? larger : larger + std::log1p(std::exp(smaller - larger));
  }

  double lse(fa::Index b, fa::Index h, fa::Index i) const {
    double sum = -std::numeric_limits<double>::infinity();
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      if (sees(i, j)) sum = log_add(sum, score(b, h, i, j));
    }
    return sum;
  }

  std::vector<double> all_lse() const {
    std::vector<double> all;
    for (fa::Index b = 0; b < shape.B; ++b) {
      for (fa::Index h = 0; h < shape.H; ++h) {
        for (fa::Index i = 0; i < shape.Nq; ++i) all.push_back(lse(b, h, i));
      }
    }
    return all;
  }

  std::vector<double> out() const {
    std::vector<double> result(q.size(), 0.0);
    for (fa::Index b = 0; b < shape.B; ++b) {
      for (fa::Index h = 0; h < shape.H; ++h) {
        for (fa::Index i = 0; i < shape.Nq; ++i) {
          const double whole = lse(b, h, i);
          for (fa::Index j = 0; j < shape.Nk; ++j) {
            if (!sees(i, j)) continue;
            const double p = std::exp(score(b, h, i, j) - whole);
            for (fa::Index d = 0; d < shape.D; ++d) result[at_query(b, h, i, d)] += p * v[at_key(b, h, j, d)];
          }
        }
      }
    }
    return result;
  }

  // The loss whose gradient by out is dout.
  double loss(std::span<const float> dout) const {
    const std::vector<double> result = out();
    double sum = 0.0;
    for (std::size_t at = 0; at < result.size(); ++at) sum += result[at] * double(dout[at]);
    return sum;
  }
};

// The largest |a − b|, with equal infinities 0 apart; infinite when the sizes differ or a NaN is met.
inline double largest_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (a[at] == b[at]) continue;
    const double difference = std::abs(a[at] - b[at]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    if (difference > largest) largest = difference;
  }
  return largest;
}
