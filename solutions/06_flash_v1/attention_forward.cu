// FlashAttention V1, forward pass, in CUDA. Dao et al. 2022 (arXiv:2205.14135), Algorithm 1.
//
// Extends lesson 05: S and P never reach HBM. It is lesson 04's loop order as a kernel: a block owns one (batch, head)
// and sweeps the K/V tiles; for each of them it sweeps the Q tiles. So k and v are read once, and q, out, m and l
// travel through HBM once per K/V tile.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attention_forward.h"

namespace lesson {
namespace {

constexpr int kThreads = 256;  // of a block

// How many tiles of Bc keys Nk keys make.
constexpr fa::Index tiles_of(fa::Index Nk, fa::Index Bc) { return (Nk + Bc - 1) / Bc; }

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

// How many of the keys j, j + 1, ... j + Bc − 1 query i sees. They are always the first ones.
__device__ int keys_seen(fa::Index i, fa::Index j, fa::Index Nq, fa::Index Nk, int Bc, bool causal) {
  const fa::Index end = causal ? min(Nk, i + Nk - Nq + 1) : Nk;
  return int(max(fa::Index{0}, min(fa::Index{Bc}, end - j)));
}

// Copies rows first, first + 1, ... of `matrix` into `tile`.
__device__ void load_tile(fa::SharedMatrix<float> tile,  // (rows, D + 1): a column of padding, see lesson 05
                          fa::hbm<const float> matrix,   // (N, D)
                          fa::Index first, int rows, fa::Index N, int D) {
  // Step 3a: rows past N become zeros. Step 4 reads them, too, before the mask hides their scores.
  for (int e = int(threadIdx.x); e < rows * D; e += kThreads) {
    const int row = e / D, d = e % D;
    tile[row][d] = first + row < N ? float(matrix[(first + row) * D + d]) : 0.0f;
  }
}

__global__ void initialize_kernel(fa::hbm<float> out,  // (rows, D)
                                  fa::hbm<float> m,    // (rows)
                                  fa::hbm<float> l,    // (rows)
                                  fa::Index rows, int D) {
  // Step 2: no key seen yet (Algorithm 1, line 2). One thread for each element of out; the first ones take m and l.
  const fa::Index e = fa::Index{blockIdx.x} * kThreads + threadIdx.x;
  if (e < rows * D) out[e] = 0.0f;
  if (e < rows) {
    m[e] = -INFINITY;
    l[e] = 0.0f;
  }
}

__global__ void attention_forward_kernel(fa::hbm<const float> q,  // (B, H, Nq, D)
                                         fa::hbm<const float> k,  // (B, H, Nk, D)
                                         fa::hbm<const float> v,  // (B, H, Nk, D)
                                         fa::hbm<float> out,      // (B, H, Nq, D)
                                         fa::hbm<float> m,        // (B, H, Nq)
                                         fa::hbm<float> l,        // (B, H, Nq)
                                         fa::Index Nq, fa::Index Nk, int D, float scale, bool causal, int Br, int Bc,
                                         fa::Index first_key, fa::Index end_key) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", Br, D + 1);
  const auto k_tile = memory.matrix<float>("k_tile", Bc, D + 1);
  const auto v_tile = memory.matrix<float>("v_tile", Bc, D + 1);
  const auto s_tile = memory.matrix<float>("s_tile", Br, Bc + 1);  // S, then P
  const auto m_tile = memory.array<float>("m_tile", Br);           // m'
  const auto kept = memory.array<float>("kept", Br);               // e^(m − m'), then what is left of the old out
  const auto per_l = memory.array<float>("per_l", Br);             // 1 / l'

  const fa::Index head = fa::Index{blockIdx.x} * gridDim.y + blockIdx.y;  // b · H + h
  q = q + head * Nq * D, out = out + head * Nq * D, m = m + head * Nq, l = l + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D;

  for (fa::Index j = first_key; j < end_key; j += Bc) {
    // Step 3b: this tile of K and V, once for all queries (Algorithm 1, line 6).
    __syncthreads();  // before the last tiles are overwritten, which others may still read
    load_tile(k_tile, k, j, Bc, Nk, D);
    load_tile(v_tile, v, j, Bc, Nk, D);

    for (fa::Index i = 0; i < Nq; i += Br) {
      const int rows = int(min(fa::Index{Br}, Nq - i));  // of this tile of Q; the last one may be partial

      // Step 3c: the last query of the tile sees the most keys. If it sees none of these, nobody does. All threads of
      // the block agree on that, so they leave out the barriers below together. Else load it (line 8).
      if (keys_seen(i + rows - 1, j, Nq, Nk, Bc, causal) == 0) continue;
      load_tile(q_tile, q, i, Br, Nq, D);
      __syncthreads();  // the tiles are complete

      // Step 4: S = scale · Q Kᵀ (line 9), and the new maximum (line 11). A key that the query does not see has the
      // score −inf.
      for (int e = int(threadIdx.x); e < rows * Bc; e += kThreads) {
        const int row = e / Bc, col = e % Bc;
        float dot = 0.0f;
        for (int d = 0; d < D; ++d) dot += q_tile[row][d] * k_tile[col][d];
        s_tile[row][col] = col < keys_seen(i + row, j, Nq, Nk, Bc, causal) ? scale * dot : -INFINITY;
      }
      __syncthreads();  // S is complete
      for (int row = int(threadIdx.x); row < rows; row += kThreads) {
        const float m_old = m[i + row];
        float m_new = m_old;  // fmaxf(m, NaN) is m; the NaN arrives in l and out through its weight
        for (int col = 0; col < Bc; ++col) m_new = fmaxf(m_new, s_tile[row][col]);
        m_tile[row] = m_new;
        kept[row] = weight(m_old, m_new);
        m[i + row] = m_new;
      }
      __syncthreads();  // m' is complete

      // Step 5: P = e^(S − m') in place of S, and l' = e^(m − m') l + rowsum(P). Lines 10 and 11, but with the new
      // maximum in place of the tile's, so that nothing has to be corrected later.
      for (int e = int(threadIdx.x); e < rows * Bc; e += kThreads) {
        const int row = e / Bc, col = e % Bc;
        s_tile[row][col] = weight(s_tile[row][col], m_tile[row]);
      }
      __syncthreads();  // P is complete
      for (int row = int(threadIdx.x); row < rows; row += kThreads) {
        const float l_kept = kept[row] * l[i + row];
        float l_new = l_kept;
        for (int col = 0; col < Bc; ++col) l_new += s_tile[row][col];
        // As long as the row has seen nothing, l is 0 and out stays 0; 0 / 0 would be NaN.
        per_l[row] = l_new == 0.0f ? 0.0f : 1.0f / l_new;
        kept[row] = l_kept * per_l[row];
        l[i + row] = l_new;
      }
      __syncthreads();  // the weights are complete

      // Step 6: out' = (e^(m − m') l / l') out + (1 / l') P V (line 12). V1 keeps out normalized at every step. Hidden
      // keys are left out rather than weighted with 0, since 0 · NaN is NaN.
      for (int e = int(threadIdx.x); e < rows * D; e += kThreads) {
        const int row = e / D, d = e % D;
        const int keys = keys_seen(i + row, j, Nq, Nk, Bc, causal);
        float pv = 0.0f;
        for (int col = 0; col < keys; ++col) pv += s_tile[row][col] * v_tile[col][d];
        const fa::Index at = (i + row) * D + d;
        out[at] = kept[row] * out[at] + per_l[row] * pv;
      }
    }
  }
}

void validate_state(const fa::DeviceBuffer<float>& out, const fa::DeviceBuffer<float>& m,
                    const fa::DeviceBuffer<float>& l, const fa::Shape& shape) {
  fa::validate(shape, {});
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("m", m.size(), fa::query_rows(shape));
  fa::require_elements("l", l.size(), fa::query_rows(shape));
}

void validate(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
              const fa::DeviceBuffer<float>& out, const fa::DeviceBuffer<float>& m, const fa::DeviceBuffer<float>& l,
              const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);
  if (shape.H > 65535)
    throw std::invalid_argument("H = " + std::to_string(shape.H) + ": must be at most 65535, for a grid");
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  validate_state(out, m, l, shape);

  const fa::Index asked = shared_memory_bytes(tiles, shape.D), limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::length_error("shared memory: Br = " + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc) +
                          ", D = " + std::to_string(shape.D) + " need " + std::to_string(asked) +
                          " bytes, but a block has " + std::to_string(limit) + " on this device");
}

}  // namespace

fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D) {
  // Step 1: q; k and v; S; m', kept and per_l.
  const auto& [Br, Bc] = tiles;
  return fa::shared_bytes<float>(Br * (D + 1)) + 2 * fa::shared_bytes<float>(Bc * (D + 1)) +
         fa::shared_bytes<float>(Br * (Bc + 1)) + 3 * fa::shared_bytes<float>(Br);
}

void initialize(fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l,
                const fa::Shape& shape) {
  validate_state(out, m, l, shape);
  const fa::Index elements = fa::query_elements(shape);
  if (elements == 0) return;
  fa::launch<initialize_kernel>({{(elements + kThreads - 1) / kThreads}, {kThreads}}, out.data(), m.data(), l.data(),
                                fa::query_rows(shape), int(shape.D));
}

void absorb_tiles(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
                  fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l,
                  const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile,
                  fa::Index end_tile) {
  validate(q, k, v, out, m, l, shape, options, tiles);
  if (first_tile < 0)
    throw std::invalid_argument("first_tile = " + std::to_string(first_tile) + ": must be at least 0");
  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  end_tile = std::min(end_tile, tiles_of(Nk, Bc));
  if (first_tile >= end_tile) return;
  fa::launch<attention_forward_kernel>(
      {{B, H}, {kThreads}, shared_memory_bytes(tiles, D)}, q.data(), k.data(), v.data(), out.data(), m.data(), l.data(),
      Nq, Nk, int(D), fa::scale_of(shape, options), options.causal, int(Br), int(Bc), first_tile * Bc, end_tile * Bc);
}

void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m,
                       fa::DeviceBuffer<float>& l, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles) {
  validate(q, k, v, out, m, l, shape, options, tiles);
  initialize(out, m, l, shape);
  absorb_tiles(q, k, v, out, m, l, shape, options, tiles, 0, tiles_of(shape.Nk, tiles.Bc));
}

}  // namespace lesson
