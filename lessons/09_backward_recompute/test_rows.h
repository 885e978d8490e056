// What the tests of lesson 09 share for one row: steps 2 and 3, and the gradient over some of the keys.

#pragma once

#include <cmath>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"

namespace support {

// Numbers by hand have six digits.
inline constexpr fa::Tolerance kByHand{.absolute = 1e-6, .relative = 2e-6, .normwise = 1e-5};

// The operands of recompute_weights. D is the size of q; `keys` is all of k unless it is given.
struct Row {
  std::vector<float> q = {}, k = {};
  float m = 0, l = 1, scale = 1;
  fa::Index keys = -1;
};

inline void check_weights(const Row& row, const std::vector<double>& expected) {
  const fa::Index D = fa::Index(row.q.size()), columns = fa::Index(row.k.size()) / D;
  const fa::Index keys = row.keys < 0 ? columns : row.keys;
  std::vector<float> p = fa::poisoned(columns);
  CAPTURE(row.q, row.k, row.m, row.l, keys, columns, row.scale);
  lesson::recompute_weights(row.q.data(), row.k.data(), p.data(), row.m, row.l, keys, columns, D, row.scale);
  fa::check_close("p", p, expected, {{"j", columns}}, kByHand);
}

// The operands of add_gradients, and what stands in the gradients before: 0 unless it is given.
struct Query {
  std::vector<float> q = {}, out = {}, dout = {}, k = {}, v = {}, p = {}, dq = {}, dk = {}, dv = {};
  float scale = 1;
  fa::Index keys = -1;
};

struct Added {
  std::vector<double> dq, dk, dv;
};

// Lesson 08's example: one query, three keys, scale = 1. Its scores are 2, 1, 0; the loss is the first number of out.
inline const fa::Shape kExample{.Nq = 1, .Nk = 3, .D = 2};
inline const fa::Options kExampleOptions{.scale = 1.0f};
inline const fa::Inputs kExampleInputs{.q = {1, 1},                 // (1, 2)
                                       .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                       .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                       .dout = {1, 0}};             // (1, 2)
inline const Query kExampleQuery{.q = kExampleInputs.q,
                                 .out = {1.849579f, 14.247896f},
                                 .dout = kExampleInputs.dout,
                                 .k = kExampleInputs.k,
                                 .v = kExampleInputs.v,
                                 .p = {0.665241f, 0.244728f, 0.090031f}};
inline const Added kExampleAdded{.dq = {-1.413984, 0.565175},
                                 .dk = {-0.565175, -0.565175, 0.281541, 0.281541, 0.283634, 0.283634},
                                 .dv = {0.665241, 0, 0.244728, 0, 0.090031, 0}};

// delta = 2, dp = (3, 6), ds = (0.5, 1): every number is exact. The gradients hold something before.
inline const Query kExactQuery{.q = {1, 2},
                               .out = {1, 0},
                               .dout = {2, 1},
                               .k = {1, 0, 0, 3},
                               .v = {1, 1, 3, 0},
                               .p = {0.5f, 0.25f},
                               .dq = {10, 20},
                               .dk = {1, 2, 3, 4},
                               .dv = {5, 6, 7, 8},
                               .scale = 0.5f};

inline void check_added(Query query, const Added& expected) {
  const fa::Index D = fa::Index(query.q.size()), columns = fa::Index(query.p.size());
  const fa::Index keys = query.keys < 0 ? columns : query.keys;
  query.dq.resize(query.q.size());
  query.dk.resize(query.k.size());
  query.dv.resize(query.v.size());
  CAPTURE(query.q, query.out, query.dout, query.k, query.v, query.p, keys, query.scale);
  lesson::add_gradients(query.q.data(), query.out.data(), query.dout.data(), query.k.data(), query.v.data(),
                        query.p.data(), query.dq.data(), query.dk.data(), query.dv.data(), keys, D, query.scale);
  fa::check_close("dv", query.dv, expected.dv, {{"j", columns}, {"d", D}}, kByHand);
  fa::check_close("dk", query.dk, expected.dk, {{"j", columns}, {"d", D}}, kByHand);
  fa::check_close("dq", query.dq, expected.dq, {{"d", D}}, kByHand);
}

// The inputs without the keys from `keys` on. One head.
inline fa::Inputs first_keys(fa::Inputs inputs, const fa::Shape& shape, fa::Index keys) {
  inputs.k.resize(static_cast<std::size_t>(keys * shape.D));
  inputs.v.resize(static_cast<std::size_t>(keys * shape.D));
  return inputs;
}

// scale · Σ_j ds_ij k_j over the first `keys` keys, while m, l and out are those of all. One head, no mask.
inline std::vector<double> query_gradient_over(const fa::Inputs& inputs, const fa::Shape& shape, fa::Index keys) {
  const fa::ForwardOracle forward = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
  const double scale = double(fa::scale_of(shape, {}));
  const auto D = static_cast<std::size_t>(shape.D);
  const auto dot = [D](const auto& a, std::size_t a_row, const auto& b, std::size_t b_row) {
    double sum = 0.0;
    for (std::size_t d = 0; d < D; ++d) sum += double(a[a_row * D + d]) * double(b[b_row * D + d]);
    return sum;
  };
  std::vector<double> dq(inputs.q.size(), 0.0);
  for (std::size_t i = 0; i < std::size_t(shape.Nq); ++i) {
    const double delta = dot(inputs.dout, i, forward.out, i);
    for (std::size_t j = 0; j < std::size_t(keys); ++j) {
      const double p = std::exp(scale * dot(inputs.q, i, inputs.k, j) - forward.lse[i]);
      const double ds = p * (dot(inputs.dout, i, inputs.v, j) - delta);
      for (std::size_t d = 0; d < D; ++d) dq[i * D + d] += scale * ds * double(inputs.k[j * D + d]);
    }
  }
  return dq;
}

}  // namespace support
