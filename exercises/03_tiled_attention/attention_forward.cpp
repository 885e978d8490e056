// Tiled attention, forward pass, on the CPU. Dao 2023, FlashAttention-2 (arXiv:2307.08691), Algorithm 1.
//
// Extends lesson 01 with lesson 02: S and P exist one tile at a time, and each row carries its state (m, l, u) from one
// K/V tile to the next. Q, K, V are in HBM; the tiles, S and the states are in SRAM, here a cache of the CPU.

#include "attention_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lesson {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
float weight(float score, float m) { return score == kNegativeInfinity ? 0.0f : std::exp(score - m); }

// sum += Σ_r factor_r · row_r. Both products of attention are this: a row of S combines the rows of Kᵀ, a row of P V
// those of V. The inner loop runs along a row, so no iteration waits for another and the compiler vectorizes it; four
// rows a sweep, since each sweep loads and stores `sum` once. `__restrict`: the three do not overlap.
void add_combination(const float* __restrict factors,  // (rows)
                     const float* __restrict matrix,   // (rows, width)
                     float* __restrict sum,            // (width)
                     fa::Index rows, fa::Index width) {
  // [combination]
  fa::Index r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float *f = factors + r, *row = matrix + r * width;
    for (fa::Index c = 0; c < width; ++c) {
      sum[c] += f[0] * row[c] + f[1] * row[width + c] + f[2] * row[2 * width + c] + f[3] * row[3 * width + c];
    }
  }
  // [/combination]
  for (; r < rows; ++r) {
    for (fa::Index c = 0; c < width; ++c) sum[c] += factors[r] * matrix[r * width + c];
  }
}

// Copies rows [first, first + rows) of a matrix into a tile.
void load_tile(fa::hbm<const float> matrix,  // (N, D)
               float* tile,                  // (rows, D)
               fa::Index first, fa::Index rows, fa::Index D) {
  for (fa::Index e = 0; e < rows * D; ++e) tile[e] = matrix[first * D + e];
}

// The same, transposed.
void load_transposed(fa::hbm<const float> matrix,  // (N, D)
                     float* tile,                  // (D, rows)
                     fa::Index first, fa::Index rows, fa::Index D) {
  for (fa::Index row = 0; row < rows; ++row) {
    for (fa::Index d = 0; d < D; ++d) tile[d * rows + row] = matrix[(first + row) * D + d];
  }
}

}  // namespace

void score_tile(const float* q_tile,  // (rows, D)
                const float* k_tile,  // (D, columns): transposed
                float* s_tile,        // (rows, columns)
                fa::Index rows, fa::Index columns, fa::Index D, float scale) {
  // TODO begin
  // Each row of S is a combination of the rows of k_tile, times scale.
  fa::todo("Step 1: a tile of scores");
  // TODO end
}

void absorb_row(float* s_row,         // (keys)
                const float* v_tile,  // (keys, D)
                float& m, float& l,
                float* u_row,  // (D)
                fa::Index keys, fa::Index D) {
  // TODO begin
  // The new maximum; l and u moved to it; the terms of the tile. The weights replace the scores in s_row.
  fa::todo("Step 2: absorb a row of scores");
  // TODO end
}

void attention_forward(fa::hbm<const float> q,  // (B, H, Nq, D)
                       fa::hbm<const float> k,  // (B, H, Nk, D)
                       fa::hbm<const float> v,  // (B, H, Nk, D)
                       fa::hbm<float> out,      // (B, H, Nq, D)
                       fa::hbm<float> lse,      // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram) {
  fa::validate(shape, options);
  fa::validate(tiles);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("lse", lse.size(), fa::query_rows(shape));

  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  const float scale = fa::scale_of(shape, options);
  auto q_tile = sram.allocate<float>("q_tile", Br * D);
  auto k_tile = sram.allocate<float>("k_tile", D * Bc);  // transposed
  auto v_tile = sram.allocate<float>("v_tile", Bc * D);
  auto s_tile = sram.allocate<float>("s_tile", Br * Bc);  // S, then P
  auto u_tile = sram.allocate<float>("u_tile", Br * D);
  auto m = sram.allocate<float>("m", Br);
  auto l = sram.allocate<float>("l", Br);

  // TODO begin
  // For each head and each Q tile: load it, empty its states, let the K/V tiles pass, write out and lse. Step 4 is in
  // here too: stop after the last key that the tile sees, and let each row absorb only the keys that it sees.
  fa::todo("Step 3: attention from tiles");
  // TODO end
}

}  // namespace lesson
