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
  // Step 1: S = scale · Q Kᵀ.
  for (fa::Index row = 0; row < rows; ++row) {
    float* s_row = s_tile + row * columns;  // (columns)
    std::fill_n(s_row, columns, 0.0f);
    add_combination(q_tile + row * D, k_tile, s_row, D, columns);
    for (fa::Index col = 0; col < columns; ++col) s_row[col] *= scale;
  }
}

void absorb_row(float* s_row,         // (keys)
                const float* v_tile,  // (keys, D)
                float& m, float& l,
                float* u_row,  // (D)
                fa::Index keys, fa::Index D) {
  // Step 2: the new maximum, then one rescaling of what is stored, then the tile's terms. std::max(m, NaN) is m; the
  // NaN arrives in l and u through its weight.
  float m_new = m;
  for (fa::Index j = 0; j < keys; ++j) m_new = std::max(m_new, s_row[j]);

  const float rescale = weight(m, m_new);
  l *= rescale;
  for (fa::Index d = 0; d < D; ++d) u_row[d] *= rescale;
  m = m_new;

  for (fa::Index j = 0; j < keys; ++j) {
    s_row[j] = weight(s_row[j], m_new);
    l += s_row[j];
  }
  add_combination(s_row, v_tile, u_row, keys, D);
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

  for (fa::Index head = 0; head < B * H; ++head) {
    for (fa::Index i = 0; i < Nq; i += Br) {
      // Step 3: a Q tile keeps its states in SRAM while all K/V tiles pass by.
      const fa::Index rows = std::min(Br, Nq - i);
      load_tile(q + head * Nq * D, q_tile.data(), i, rows, D);
      std::fill_n(m.data(), rows, kNegativeInfinity);
      std::fill_n(l.data(), rows, 0.0f);
      std::fill_n(u_tile.data(), rows * D, 0.0f);

      // Step 4: the last query of the tile sees the most keys. Tiles after those are not even read.
      const fa::Index visible = fa::visible_keys(shape, options, i + rows - 1);
      for (fa::Index j = 0; j < visible; j += Bc) {
        const fa::Index columns = std::min(Bc, Nk - j);
        load_transposed(k + head * Nk * D, k_tile.data(), j, columns, D);
        load_tile(v + head * Nk * D, v_tile.data(), j, columns, D);
        score_tile(q_tile.data(), k_tile.data(), s_tile.data(), rows, columns, D, scale);
        for (fa::Index row = 0; row < rows; ++row) {
          // On the diagonal a row sees the first keys of the tile only. Hidden ones are left out rather than weighted
          // with 0, since 0 · NaN is NaN.
          const fa::Index keys = std::clamp<fa::Index>(fa::visible_keys(shape, options, i + row) - j, 0, columns);
          absorb_row(&s_tile[row * columns], v_tile.data(), m[row], l[row], &u_tile[row * D], keys, D);
        }
      }

      // One division a value, at the end. A row without a key has l = 0 and u = 0, and 0 / 0 would be NaN.
      for (fa::Index row = 0; row < rows; ++row) {
        const fa::Index at = head * Nq + i + row;
        for (fa::Index d = 0; d < D; ++d) {
          out[at * D + d] = l[row] == 0.0f ? u_tile[row * D + d] : u_tile[row * D + d] / l[row];
        }
        lse[at] = l[row] == 0.0f ? kNegativeInfinity : m[row] + std::log(l[row]);
      }
    }
  }
}

}  // namespace lesson
