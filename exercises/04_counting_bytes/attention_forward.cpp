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
  // TODO begin
  fa::todo("Step 3b: absorb a row of scores into a normalized output");
  // TODO end
}

}  // namespace

fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D) {
  // TODO begin
  fa::todo("Step 1: the bytes that tiles need");
  // TODO end
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

  // TODO begin
  // The largest Bc for which tile_bytes({min(Bc, D), Bc}, D) is at most sram_bytes.
  fa::todo("Step 2: tiles from the size of the SRAM");
  // TODO end
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

  // TODO begin
  // For each head: initialize out, m, l. For each K/V tile: load it; for each Q tile that sees it: load the rows of q,
  // out, m and l, compute S, absorb each row, store out, m and l.
  fa::todo("Step 3a: the loops, K/V tiles outside");
  // TODO end
}

fa::Traffic forward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);

  // TODO begin
  fa::todo("Step 4: the traffic as a formula");
  // TODO end
}

}  // namespace lesson
