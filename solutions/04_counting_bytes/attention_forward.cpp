// FlashAttention, forward pass, on the CPU with metered memory. Dao et al. 2022 (arXiv:2205.14135), Algorithm 1.
//
// Extends lesson 03: the loops change places. K/V tiles are outside, so K and V are read once; the states of the rows
// no longer stay in SRAM, but travel through HBM once per K/V tile. New: the tile sizes follow from the SRAM, and the
// traffic is a formula.

#include "attention_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace lesson {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();
constexpr fa::Index kMostSram = fa::Index{1} << 27;  // 128 MiB: more than any chip has

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
float weight(float score, float m) { return score == kNegativeInfinity ? 0.0f : std::exp(score - m); }

// Copies `count` elements from HBM to SRAM, and back.
void load(fa::hbm<const float> from, float* to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}
void store(const float* from, fa::hbm<float> to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}

// S = scale · Q Kᵀ, as in lesson 03, with K as it is: this lesson counts bytes, not seconds.
void score_tile(const float* q_tile,  // (rows, D)
                const float* k_tile,  // (columns, D)
                float* s_tile,        // (rows, columns)
                fa::Index rows, fa::Index columns, fa::Index D, float scale) {
  for (fa::Index row = 0; row < rows; ++row) {
    for (fa::Index col = 0; col < columns; ++col) {
      float dot = 0.0f;
      for (fa::Index d = 0; d < D; ++d) dot += q_tile[row * D + d] * k_tile[col * D + d];
      s_tile[row * columns + col] = scale * dot;
    }
  }
}

// Absorbs `keys` scores of one row. Unlike lesson 03's u, out is divided by l at all times.
void absorb_row(const float* s_row,   // (keys)
                const float* v_tile,  // (keys, D)
                float& m, float& l,
                float* out_row,  // (D)
                fa::Index keys, fa::Index D) {
  // Step 3b: the state after this tile. std::max(m, NaN) is m; the NaN arrives in l and out through its weight.
  float m_new = m;
  for (fa::Index j = 0; j < keys; ++j) m_new = std::max(m_new, s_row[j]);
  const float l_kept = weight(m, m_new) * l;
  float l_new = l_kept;
  for (fa::Index j = 0; j < keys; ++j) l_new += weight(s_row[j], m_new);

  // out was divided by the old l, so it is multiplied by what is left of it before it is divided by the new one. As
  // long as the row has seen nothing, l is 0 and out stays 0; 0 / 0 would be NaN.
  const float per_l = l_new == 0.0f ? 0.0f : 1.0f / l_new;
  for (fa::Index d = 0; d < D; ++d) out_row[d] *= l_kept * per_l;
  for (fa::Index j = 0; j < keys; ++j) {
    const float p = weight(s_row[j], m_new) * per_l;
    for (fa::Index d = 0; d < D; ++d) out_row[d] += p * v_tile[j * D + d];
  }
  m = m_new;
  l = l_new;
}

}  // namespace

fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D) {
  // Step 1: q, out; k, v; S; m, l.
  const auto& [Br, Bc] = tiles;
  return fa::Index{sizeof(float)} * (2 * Br * D + 2 * Bc * D + Br * Bc + 2 * Br);
}

fa::Tiles choose_tiles(fa::Index sram_bytes, fa::Index D) {
  fa::validate({.D = D}, {});
  const fa::Index least = tile_bytes({.Br = 1, .Bc = 1}, D);
  if (sram_bytes < least) {
    throw std::invalid_argument("sram_bytes = " + std::to_string(sram_bytes) + ": must be at least " +
                                std::to_string(least) + ", for one row of each tile at D = " + std::to_string(D));
  }
  if (sram_bytes > kMostSram) {
    throw std::invalid_argument("sram_bytes = " + std::to_string(sram_bytes) + ": must be at most " +
                                std::to_string(kMostSram));
  }

  // Step 2: with k and v alone, Bc would be M / 2d for M elements. Start there and take away until all else fits, too.
  fa::Index Bc = sram_bytes / (fa::Index{sizeof(float)} * 2 * D);
  while (tile_bytes({.Br = std::min(Bc, D), .Bc = Bc}, D) > sram_bytes) --Bc;
  return {.Br = std::min(Bc, D), .Bc = Bc};
}

void attention_forward(fa::hbm<const float> q,  // (B, H, Nq, D)
                       fa::hbm<const float> k,  // (B, H, Nk, D)
                       fa::hbm<const float> v,  // (B, H, Nk, D)
                       fa::hbm<float> out,      // (B, H, Nq, D)
                       fa::hbm<float> m,        // (B, H, Nq)
                       fa::hbm<float> l,        // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram) {
  fa::validate(shape, options);
  fa::validate(tiles);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("m", m.size(), fa::query_rows(shape));
  fa::require_elements("l", l.size(), fa::query_rows(shape));

  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  const float scale = fa::scale_of(shape, options);
  auto q_tile = sram.allocate<float>("q_tile", Br * D);
  auto out_tile = sram.allocate<float>("out_tile", Br * D);
  auto k_tile = sram.allocate<float>("k_tile", Bc * D);
  auto v_tile = sram.allocate<float>("v_tile", Bc * D);
  auto s_tile = sram.allocate<float>("s_tile", Br * Bc);
  auto m_tile = sram.allocate<float>("m_tile", Br);
  auto l_tile = sram.allocate<float>("l_tile", Br);

  for (fa::Index head = 0; head < B * H; ++head) {
    const fa::Index query = head * Nq, key = head * Nk;  // the first row of the head

    // Step 3a: no key seen yet (Algorithm 1, line 2).
    for (fa::Index i = 0; i < Nq; ++i) {
      for (fa::Index d = 0; d < D; ++d) out[(query + i) * D + d] = 0.0f;
      m[query + i] = kNegativeInfinity;
      l[query + i] = 0.0f;
    }

    for (fa::Index j = 0; j < Nk; j += Bc) {
      const fa::Index columns = std::min(Bc, Nk - j);
      load(k + (key + j) * D, k_tile.data(), columns * D);
      load(v + (key + j) * D, v_tile.data(), columns * D);

      for (fa::Index i = 0; i < Nq; i += Br) {
        // The last query of the tile sees the most keys. If it sees none of this tile, nobody does.
        const fa::Index rows = std::min(Br, Nq - i);
        if (fa::visible_keys(shape, options, i + rows - 1) <= j) continue;

        load(q + (query + i) * D, q_tile.data(), rows * D);
        load(out + (query + i) * D, out_tile.data(), rows * D);
        load(m + (query + i), m_tile.data(), rows);
        load(l + (query + i), l_tile.data(), rows);

        score_tile(q_tile.data(), k_tile.data(), s_tile.data(), rows, columns, D, scale);
        for (fa::Index row = 0; row < rows; ++row) {
          // Hidden keys are left out rather than weighted with 0, since 0 · NaN is NaN.
          const fa::Index keys = std::clamp<fa::Index>(fa::visible_keys(shape, options, i + row) - j, 0, columns);
          absorb_row(&s_tile[row * columns], v_tile.data(), m_tile[row], l_tile[row], &out_tile[row * D], keys, D);
        }

        store(out_tile.data(), out + (query + i) * D, rows * D);
        store(m_tile.data(), m + (query + i), rows);
        store(l_tile.data(), l + (query + i), rows);
      }
    }
  }
}

fa::Traffic forward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);

  // Step 4: rows that meet a K/V tile, summed over the pairs of tiles of a head. Without a mask that is Nq · ⌈Nk / Bc⌉.
  const auto& [B, H, Nq, Nk, D] = shape;
  fa::Index rows_met = 0;
  for (fa::Index i = 0; i < Nq; i += tiles.Br) {
    const fa::Index rows = std::min(tiles.Br, Nq - i);
    const fa::Index visible = fa::visible_keys(shape, options, i + rows - 1);
    rows_met += rows * ((visible + tiles.Bc - 1) / tiles.Bc);
  }
  const fa::Index read = 2 * Nk * D + rows_met * (2 * D + 2);  // k, v; q, out, m, l
  const fa::Index written = (Nq + rows_met) * (D + 2);         // out, m, l: once to begin with
  return {B * H * read * fa::Index{sizeof(float)}, B * H * written * fa::Index{sizeof(float)}};
}

}  // namespace lesson
