// FlashAttention, backward pass, on the CPU with metered memory. Dao et al. 2022 (arXiv:2205.14135), Algorithm 4.
//
// Extends lesson 08: P is not kept. Two numbers a row, m and l, bring each tile of it back when it is needed. The loops
// are lesson 04's; now dq is what travels.

#include "attention_backward.h"

#include <algorithm>
#include <cmath>

namespace lesson {
namespace {

// Copies `count` elements from HBM to SRAM, and back.
void load(fa::hbm<const float> from, float* to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}
void store(const float* from, fa::hbm<float> to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}

float dot(const float* a, const float* b, fa::Index D) {
  float sum = 0.0f;
  for (fa::Index d = 0; d < D; ++d) sum += a[d] * b[d];
  return sum;
}

}  // namespace

fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D) {
  // Step 1: q, out, dout, dq; k, v, dk, dv; P; m, l.
  const auto& [Br, Bc] = tiles;
  return fa::Index{sizeof(float)} * (4 * Br * D + 4 * Bc * D + Br * Bc + 2 * Br);
}

void recompute_weights(const float* q_row,   // (D)
                       const float* k_tile,  // (columns, D)
                       float* p_row,         // (columns)
                       float m, float l, fa::Index keys, fa::Index columns, fa::Index D, float scale) {
  // Step 2: the scores again, but no maximum and no sum to look for: m and l are those of the whole row. If l is 0, no
  // key weighs anything; 0 / 0 would be NaN.
  for (fa::Index j = 0; j < keys; ++j) {
    const float score = scale * dot(q_row, k_tile + j * D, D);
    p_row[j] = l == 0.0f ? 0.0f : std::exp(score - m) / l;
  }
  // Not by the same formula: a row of zeros behind the last key has the score 0, and e^(0 − m) is inf for m = −5e4.
  for (fa::Index j = keys; j < columns; ++j) p_row[j] = 0.0f;
}

void add_gradients(const float* q_row,     // (D)
                   const float* out_row,   // (D)
                   const float* dout_row,  // (D)
                   const float* k_tile,    // (keys, D)
                   const float* v_tile,    // (keys, D)
                   const float* p_row,     // (keys)
                   float* dq_row,          // (D)
                   float* dk_tile,         // (keys, D)
                   float* dv_tile,         // (keys, D)
                   fa::Index keys, fa::Index D, float scale) {
  // Step 3: lesson 08's formulas for one query. delta is that of the whole row, and comes from the output: rowsum(P ∘
  // dP) would need the tiles that are not here.
  const float delta = dot(dout_row, out_row, D);
  for (fa::Index j = 0; j < keys; ++j) {
    const float dp = dot(dout_row, v_tile + j * D, D);
    const float ds = p_row[j] * (dp - delta);
    for (fa::Index d = 0; d < D; ++d) dv_tile[j * D + d] += p_row[j] * dout_row[d];
    for (fa::Index d = 0; d < D; ++d) dk_tile[j * D + d] += scale * ds * q_row[d];
    for (fa::Index d = 0; d < D; ++d) dq_row[d] += scale * ds * k_tile[j * D + d];
  }
}

void attention_backward(fa::hbm<const float> q,     // (B, H, Nq, D)
                        fa::hbm<const float> k,     // (B, H, Nk, D)
                        fa::hbm<const float> v,     // (B, H, Nk, D)
                        fa::hbm<const float> out,   // (B, H, Nq, D), of the forward pass
                        fa::hbm<const float> m,     // (B, H, Nq), of the forward pass
                        fa::hbm<const float> l,     // (B, H, Nq), of the forward pass
                        fa::hbm<const float> dout,  // (B, H, Nq, D)
                        fa::hbm<float> dq,          // (B, H, Nq, D)
                        fa::hbm<float> dk,          // (B, H, Nk, D)
                        fa::hbm<float> dv,          // (B, H, Nk, D)
                        const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram) {
  fa::validate(shape, options);
  fa::validate(tiles);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("m", m.size(), fa::query_rows(shape));
  fa::require_elements("l", l.size(), fa::query_rows(shape));
  fa::require_elements("dout", dout.size(), fa::query_elements(shape));
  fa::require_elements("dq", dq.size(), fa::query_elements(shape));
  fa::require_elements("dk", dk.size(), fa::key_elements(shape));
  fa::require_elements("dv", dv.size(), fa::key_elements(shape));

  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  const float scale = fa::scale_of(shape, options);
  auto q_tile = sram.allocate<float>("q_tile", Br * D);
  auto out_tile = sram.allocate<float>("out_tile", Br * D);
  auto dout_tile = sram.allocate<float>("dout_tile", Br * D);
  auto dq_tile = sram.allocate<float>("dq_tile", Br * D);
  auto k_tile = sram.allocate<float>("k_tile", Bc * D);
  auto v_tile = sram.allocate<float>("v_tile", Bc * D);
  auto dk_tile = sram.allocate<float>("dk_tile", Bc * D);
  auto dv_tile = sram.allocate<float>("dv_tile", Bc * D);
  auto p_tile = sram.allocate<float>("p_tile", Br * Bc);
  auto m_tile = sram.allocate<float>("m_tile", Br);
  auto l_tile = sram.allocate<float>("l_tile", Br);

  for (fa::Index head = 0; head < B * H; ++head) {
    const fa::Index query = head * Nq, key = head * Nk;  // the first row of the head

    // Step 4: no key seen yet.
    for (fa::Index e = 0; e < Nq * D; ++e) dq[query * D + e] = 0.0f;

    for (fa::Index j = 0; j < Nk; j += Bc) {
      // A K/V tile stays, with its gradients, while all Q tiles pass by.
      const fa::Index columns = std::min(Bc, Nk - j);
      load(k + (key + j) * D, k_tile.data(), columns * D);
      load(v + (key + j) * D, v_tile.data(), columns * D);
      std::fill_n(dk_tile.data(), columns * D, 0.0f);
      std::fill_n(dv_tile.data(), columns * D, 0.0f);

      for (fa::Index i = 0; i < Nq; i += Br) {
        // The last query of the tile sees the most keys. If it sees none of this tile, nobody does.
        const fa::Index rows = std::min(Br, Nq - i);
        if (fa::visible_keys(shape, options, i + rows - 1) <= j) continue;

        // What the forward pass left of these queries, and their dq so far.
        load(q + (query + i) * D, q_tile.data(), rows * D);
        load(out + (query + i) * D, out_tile.data(), rows * D);
        load(dout + (query + i) * D, dout_tile.data(), rows * D);
        load(dq + (query + i) * D, dq_tile.data(), rows * D);
        load(m + (query + i), m_tile.data(), rows);
        load(l + (query + i), l_tile.data(), rows);

        for (fa::Index row = 0; row < rows; ++row) {
          // Hidden keys are left out rather than weighted with 0, since 0 · NaN is NaN.
          const fa::Index keys = std::clamp<fa::Index>(fa::visible_keys(shape, options, i + row) - j, 0, columns);
          recompute_weights(&q_tile[row * D], k_tile.data(), &p_tile[row * columns], m_tile[row], l_tile[row], keys,
                            columns, D, scale);
          add_gradients(&q_tile[row * D], &out_tile[row * D], &dout_tile[row * D], k_tile.data(), v_tile.data(),
                        &p_tile[row * columns], &dq_tile[row * D], dk_tile.data(), dv_tile.data(), keys, D, scale);
        }

        store(dq_tile.data(), dq + (query + i) * D, rows * D);
      }

      // No other K/V tile adds to these.
      store(dk_tile.data(), dk + (key + j) * D, columns * D);
      store(dv_tile.data(), dv + (key + j) * D, columns * D);
    }
  }
}

fa::Traffic backward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);

  // Step 5: rows that meet a K/V tile, summed over the pairs of tiles of a head, as in lesson 04.
  const auto& [B, H, Nq, Nk, D] = shape;
  fa::Index rows_met = 0;
  for (fa::Index i = 0; i < Nq; i += tiles.Br) {
    const fa::Index rows = std::min(tiles.Br, Nq - i);
    const fa::Index visible = fa::visible_keys(shape, options, i + rows - 1);
    rows_met += rows * ((visible + tiles.Bc - 1) / tiles.Bc);
  }
  const fa::Index read = 2 * Nk * D + rows_met * (4 * D + 2);  // k, v; q, out, dout, dq, m, l
  const fa::Index written = 2 * Nk * D + (Nq + rows_met) * D;  // dk, dv; dq: once to begin with
  return {B * H * read * fa::Index{sizeof(float)}, B * H * written * fa::Index{sizeof(float)}};
}

}  // namespace lesson
