#include "comparison.h"

#include <algorithm>
#include <vector>

#include "attention_backward.h"

namespace lesson {
namespace {

using Matrix = std::vector<float>;

Matrix load(fa::hbm<const float> from, fa::Index count) {
  Matrix values(static_cast<std::size_t>(count));
  for (fa::Index e = 0; e < count; ++e) values[static_cast<std::size_t>(e)] = from[e];
  return values;
}

void store(const Matrix& from, fa::hbm<float> to) {
  for (std::size_t e = 0; e < from.size(); ++e) to[static_cast<fa::Index>(e)] = from[e];
}

float dot(const float* a, const float* b, fa::Index count) {
  float sum = 0.0f;
  for (fa::Index e = 0; e < count; ++e) sum += a[e] * b[e];
  return sum;
}

// sum += factor · row
void add_row(float* sum, float factor, const float* row, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) sum[e] += factor * row[e];
}

// result_j = factor · Σ_i weights_ij rows_i, for dV and dK: reads both operands, writes the result. One head.
void sum_over_queries(fa::hbm<const float> weights, fa::hbm<const float> rows, fa::hbm<float> result, float factor,
                      const fa::Shape& shape, const fa::Options& options) {
  Matrix sum(static_cast<std::size_t>(shape.Nk * shape.D), 0.0f);
  for (fa::Index i = 0; i < shape.Nq; ++i) {
    const Matrix weight = load(weights + i * shape.Nk, shape.Nk), row = load(rows + i * shape.D, shape.D);
    for (fa::Index j = 0; j < fa::visible_keys(shape, options, i); ++j) {
      add_row(&sum[static_cast<std::size_t>(j * shape.D)], factor * weight[static_cast<std::size_t>(j)], row.data(),
              shape.D);
    }
  }
  store(sum, result);
}

// dP = dO Vᵀ. One head.
void weight_gradient(fa::hbm<const float> dout, fa::hbm<const float> v, fa::hbm<float> dp, const fa::Shape& shape,
                     const fa::Options& options) {
  const Matrix v_sram = load(v, shape.Nk * shape.D);
  for (fa::Index i = 0; i < shape.Nq; ++i) {
    const Matrix dout_row = load(dout + i * shape.D, shape.D);
    const fa::Index visible = fa::visible_keys(shape, options, i);
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      dp[i * shape.Nk + j] = j < visible ? dot(dout_row.data(), v_sram.data() + j * shape.D, shape.D) : 0.0f;
    }
  }
}

// dS = P ∘ (dP − rowsum(P ∘ dP)). One row.
void score_gradient(fa::hbm<const float> p_row, fa::hbm<const float> dp_row, fa::hbm<float> ds_row, fa::Index columns) {
  const Matrix p = load(p_row, columns), dp = load(dp_row, columns);
  const float delta = dot(p.data(), dp.data(), columns);
  for (fa::Index j = 0; j < columns; ++j) {
    const std::size_t at = static_cast<std::size_t>(j);
    ds_row[j] = p[at] * (dp[at] - delta);
  }
}

// dQ = scale · dS K. One head.
void query_gradient(fa::hbm<const float> ds, fa::hbm<const float> k, fa::hbm<float> dq, const fa::Shape& shape,
                    const fa::Options& options) {
  const float scale = fa::scale_of(shape, options);
  const Matrix k_sram = load(k, shape.Nk * shape.D);
  for (fa::Index i = 0; i < shape.Nq; ++i) {
    const Matrix ds_row = load(ds + i * shape.Nk, shape.Nk);
    Matrix sum(static_cast<std::size_t>(shape.D), 0.0f);
    for (fa::Index j = 0; j < fa::visible_keys(shape, options, i); ++j) {
      add_row(sum.data(), scale * ds_row[static_cast<std::size_t>(j)], k_sram.data() + j * shape.D, shape.D);
    }
    store(sum, dq + i * shape.D);
  }
}

}  // namespace

void standard_backward(fa::hbm<const float> q, fa::hbm<const float> k, fa::hbm<const float> v, fa::hbm<const float> p,
                       fa::hbm<const float> dout, fa::hbm<float> dq, fa::hbm<float> dk, fa::hbm<float> dv,
                       const fa::Shape& shape, const fa::Options& options, fa::TrafficMeter& meter,
                       fa::Scratch& scratch) {
  fa::validate(shape, options);
  auto dp_memory = scratch.allocate<float>("dP", fa::score_elements(shape));  // (B, H, Nq, Nk)
  auto ds_memory = scratch.allocate<float>("dS", fa::score_elements(shape));  // (B, H, Nq, Nk)
  const auto dp = meter.buffer("dP", dp_memory.span());
  const auto ds = meter.buffer("dS", ds_memory.span());

  for (fa::Index head = 0; head < fa::heads(shape); ++head) {
    const fa::Index query = head * shape.Nq * shape.D, key = head * shape.Nk * shape.D;
    const fa::Index square = head * shape.Nq * shape.Nk;
    sum_over_queries(p + square, dout + query, dv + key, 1.0f, shape, options);
    weight_gradient(dout + query, v + key, dp + square, shape, options);
    for (fa::Index i = 0; i < shape.Nq; ++i) {
      const fa::Index row = square + i * shape.Nk;
      score_gradient(p + row, dp + row, ds + row, shape.Nk);
    }
    query_gradient(ds + square, k + key, dq + query, shape, options);
    sum_over_queries(ds + square, q + query, dk + key, fa::scale_of(shape, options), shape, options);
  }
}

fa::Tiles choose_tiles(fa::Index sram_bytes, fa::Index D) {
  fa::Index Bc = sram_bytes / (fa::Index{sizeof(float)} * 4 * D);  // with k, v, dk and dv alone
  while (Bc > 1 && tile_bytes({.Br = std::min(Bc, D), .Bc = Bc}, D) > sram_bytes) --Bc;
  return {.Br = std::min(Bc, D), .Bc = Bc};
}

fa::Index training_bytes(const fa::Shape& shape, fa::Weights weights) {
  const fa::Index elements = 4 * fa::query_elements(shape) + 4 * fa::key_elements(shape);
  const fa::Index scratch =
      weights == fa::Weights::stored ? fa::standard_training_scratch(shape) : fa::v1_training_scratch(shape);
  return elements * fa::Index{sizeof(float)} + scratch;
}

fa::Index longest_sequence(fa::Index bytes, fa::Weights weights) {
  fa::Index fits = 0, too_long = fa::Index{1} << 20;  // beyond, fa::standard_training_scratch does not count
  while (fits + 1 < too_long) {
    const fa::Index middle = (fits + too_long) / 2;
    (training_bytes(model_shape(middle), weights) <= bytes ? fits : too_long) = middle;
  }
  return fits;
}

}  // namespace lesson
