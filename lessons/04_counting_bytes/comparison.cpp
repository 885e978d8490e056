#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_forward.h"

namespace lesson {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

std::vector<float> load(fa::hbm<const float> from, fa::Index count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (fa::Index e = 0; e < count; ++e) values[static_cast<std::size_t>(e)] = from[e];
  return values;
}

// Kernel 1, for one head: reads Q and K, writes S.
void scores_kernel(fa::hbm<const float> q, fa::hbm<const float> k, fa::hbm<float> s, const fa::Shape& shape,
                   const fa::Options& options) {
  const float scale = fa::scale_of(shape, options);
  const std::vector<float> k_sram = load(k, shape.Nk * shape.D);
  for (fa::Index i = 0; i < shape.Nq; ++i) {
    const std::vector<float> q_row = load(q + i * shape.D, shape.D);
    const fa::Index visible = fa::visible_keys(shape, options, i);
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      float dot = 0.0f;
      const float* k_row = k_sram.data() + j * shape.D;
      for (fa::Index d = 0; d < shape.D; ++d) dot += q_row[static_cast<std::size_t>(d)] * k_row[d];
      s[i * shape.Nk + j] = j < visible ? scale * dot : kNegativeInfinity;
    }
  }
}

// Kernel 2, for one row: reads S, writes P.
void softmax_kernel(fa::hbm<const float> s_row, fa::hbm<float> p_row, fa::Index columns) {
  std::vector<float> row = load(s_row, columns);
  float m = kNegativeInfinity, l = 0.0f;
  for (const float score : row) m = std::max(m, score);
  for (float& value : row) {
    value = value == kNegativeInfinity ? 0.0f : std::exp(value - m);
    l += value;
  }
  for (fa::Index j = 0; j < columns; ++j) {
    const float weight = row[static_cast<std::size_t>(j)];
    p_row[j] = l == 0.0f ? weight : weight / l;
  }
}

// Kernel 3, for one head: reads P and V, writes out.
void output_kernel(fa::hbm<const float> p, fa::hbm<const float> v, fa::hbm<float> out, const fa::Shape& shape,
                   const fa::Options& options) {
  const std::vector<float> v_sram = load(v, shape.Nk * shape.D);
  for (fa::Index i = 0; i < shape.Nq; ++i) {
    const std::vector<float> p_row = load(p + i * shape.Nk, shape.Nk);
    std::vector<float> sum(static_cast<std::size_t>(shape.D), 0.0f);
    for (fa::Index j = 0; j < fa::visible_keys(shape, options, i); ++j) {
      const float* v_row = v_sram.data() + j * shape.D;
      for (fa::Index d = 0; d < shape.D; ++d)
        sum[static_cast<std::size_t>(d)] += p_row[static_cast<std::size_t>(j)] * v_row[d];
    }
    for (fa::Index d = 0; d < shape.D; ++d) out[i * shape.D + d] = sum[static_cast<std::size_t>(d)];
  }
}

}  // namespace

void standard_attention(fa::hbm<const float> q, fa::hbm<const float> k, fa::hbm<const float> v, fa::hbm<float> out,
                        const fa::Shape& shape, const fa::Options& options, fa::TrafficMeter& meter,
                        fa::Scratch& scratch) {
  fa::validate(shape, options);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));

  auto s_memory = scratch.allocate<float>("S", fa::score_elements(shape));  // (B, H, Nq, Nk)
  auto p_memory = scratch.allocate<float>("P", fa::score_elements(shape));  // (B, H, Nq, Nk)
  const auto s = meter.buffer("S", s_memory.span());
  const auto p = meter.buffer("P", p_memory.span());

  for (fa::Index head = 0; head < fa::heads(shape); ++head) {
    const fa::Index query = head * shape.Nq * shape.D, key = head * shape.Nk * shape.D;
    const fa::Index square = head * shape.Nq * shape.Nk;
    scores_kernel(q + query, k + key, s + square, shape, options);
    for (fa::Index i = 0; i < shape.Nq; ++i) {
      softmax_kernel(s + square + i * shape.Nk, p + square + i * shape.Nk, shape.Nk);
    }
    output_kernel(p + square, v + key, out + query, shape, options);
  }
}

fa::Tiles choose_v2_tiles(fa::Index sram_bytes, fa::Index D) {
  const fa::Tiles v1 = choose_tiles(sram_bytes, D);
  fa::Tiles tiles{.Br = v1.Bc, .Bc = v1.Br};
  while (tile_bytes(tiles, D) > sram_bytes) --tiles.Br;  // m and l of the larger Br
  return tiles;
}

}  // namespace lesson
