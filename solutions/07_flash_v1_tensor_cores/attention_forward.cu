// FlashAttention V1, forward pass, on tensor cores. Dao et al. 2022 (arXiv:2205.14135), Algorithm 1.
//
// Extends lesson 06: both products run on tensor cores, in half precision, through nvcuda::wmma. A warp owns 16 queries
// and does all of their steps alone, so a block waits for all its threads only where the K/V tile changes.

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "attention_forward.h"
#include "fa/tensor_core.h"
#include "operands.h"

namespace lesson {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kMostWarps = 16;  // of a block
constexpr unsigned kAllLanes = 0xffff'ffff;

// Each row of a tile is 16 bytes longer than what it holds, so that 8 rows, one below the other, lie in different
// banks.
constexpr int kPadding = 8;       // elements of T
constexpr int kFloatPadding = 4;  // elements of float

// How many of the keys j, j + 1, ... j + Bc − 1 query i sees. They are always the first ones.
__device__ int keys_seen(fa::Index i, fa::Index j, fa::Index Nq, fa::Index Nk, int Bc, bool causal) {
  const fa::Index end = causal ? min(Nk, i + Nk - Nq + 1) : Nk;
  return int(max(fa::Index{0}, min(fa::Index{Bc}, end - j)));
}

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

// Asks for rows first, first + 1, ... of `matrix`; they are to arrive in rows to, to + 1, ... of `tile`. Thread
// `thread` of `threads` does its part.
template <int D, class T>
__device__ void copy_rows(fa::SharedMatrix<T> tile, int to,  // (rows, D and more)
                          fa::hbm<const T> matrix,           // (N, D)
                          fa::Index first, int rows, fa::Index N, int thread, int threads) {
  // Step 2a: 16 bytes at a time. Rows past N become zeros: steps 3 and 5 multiply them, too.
  for (int e = 8 * thread; e < rows * D; e += 8 * threads) {
    const int r = e / D, d = e % D;
    const int zeros = first + r < N ? 0 : 16;
    __pipeline_memcpy_async(&tile[to + r][d], matrix + (first + r) * D + d, 16, zeros);
  }
}

template <class T, int D>
__global__ void __launch_bounds__(32 * kMostWarps)
    attention_forward_kernel(fa::hbm<const T> q,      // (B, H, Nq, D)
                             fa::hbm<const T> k,      // (B, H, Nk, D)
                             fa::hbm<const T> v,      // (B, H, Nk, D)
                             fa::hbm<T> out,          // (B, H, Nq, D)
                             fa::hbm<float> partial,  // (B, H, Nq, D)
                             fa::hbm<float> m,        // (B, H, Nq)
                             fa::hbm<float> l,        // (B, H, Nq)
                             fa::Index Nq, fa::Index Nk, float scale, bool causal, int Br, int Bc, fa::Index first_key,
                             fa::Index end_key) {
  fa::DynamicShared memory;
  const int k_columns = D + kPadding, left_columns = max(Bc, D) + kPadding,
            product_columns = max(Bc, D) + kFloatPadding;
  const auto k_tile = memory.matrix<T>("k_tile", Bc, k_columns);
  const auto v_tile = memory.matrix<T>("v_tile", Bc, k_columns);
  const auto left_tile = memory.matrix<T>("left_tile", Br, left_columns);               // q, then P
  const auto product_tile = memory.matrix<float>("product_tile", Br, product_columns);  // S, then P V

  const fa::Index head = fa::Index{blockIdx.x} * gridDim.y + blockIdx.y;  // b · H + h
  q = q + head * Nq * D, out = out + head * Nq * D, partial = partial + head * Nq * D;
  m = m + head * Nq, l = l + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D;

  const int thread = int(threadIdx.x), lane = thread % 32;
  const int own = thread / 32 * kRows;                // the first of the warp's rows, of the Br in the tiles
  const int row = lane % kRows, half = lane / kRows;  // lanes r and r + 16 share row r of the warp's

  for (fa::Index j = first_key; j < end_key; j += Bc) {
    // Step 2b: this tile of K and V, once for all queries (Algorithm 1, line 6).
    __syncthreads();  // before the last tiles are overwritten, which others may still read
    copy_rows<D>(k_tile, 0, k, j, Bc, Nk, thread, int(blockDim.x));
    copy_rows<D>(v_tile, 0, v, j, Bc, Nk, thread, int(blockDim.x));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // what all threads asked for has arrived

    for (fa::Index i = own; i < Nq; i += Br) {
      const int rows = int(min(fa::Index{kRows}, Nq - i));  // from query i on; the last ones may be fewer
      const bool first = j == 0;

      // Step 2c: the last query sees the most keys. If it sees none of these, nobody does, and there is nothing to do
      // unless the state has to begin. Else load the rows of q (line 8).
      const int keys = keys_seen(i + rows - 1, j, Nq, Nk, Bc, causal);
      const int columns = (keys + 15) / 16 * 16;  // of S
      if (keys == 0 && !first) continue;
      __syncwarp();  // before the rows are overwritten, which other lanes may still read
      copy_rows<D>(left_tile, own, q, i, kRows, Nq, lane, 32);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncwarp();  // what all lanes asked for has arrived

      // Step 3: S = Q Kᵀ (line 9), 16 x 16 scores at a time. Column n of Kᵀ is row n of the tile of K.
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> q_part[D / 16];
      for (int d = 0; d < D; d += 16) wmma::load_matrix_sync(q_part[d / 16], &left_tile[own][d], left_columns);
      for (int col = 0; col < columns; col += 16) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
        wmma::fill_fragment(s, 0.0f);
        for (int d = 0; d < D; d += 16) {
          wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> k_part;
          wmma::load_matrix_sync(k_part, &k_tile[col][d], k_columns);
          wmma::mma_sync(s, q_part[d / 16], k_part, s);
        }
        wmma::store_matrix_sync(&product_tile[own][col], s, product_columns, wmma::mem_row_major);
      }
      __syncwarp();  // S is complete

      // The new maximum (line 11). A row's two lanes take turns, 4 columns at a time. The other rows of the tile, and
      // the keys that a query does not see, have scores, too, but nobody looks at them.
      const int seen = row < rows ? keys_seen(i + row, j, Nq, Nk, Bc, causal) : 0;
      float m_old = -INFINITY, l_old = 0.0f;
      if (lane < rows && !first) m_old = m[i + lane], l_old = l[i + lane];
      m_old = __shfl_sync(kAllLanes, m_old, row);
      l_old = __shfl_sync(kAllLanes, l_old, row);
      float m_new = m_old;  // fmaxf(m, NaN) is m; the NaN arrives in l and out through its weight
      for (int col = 4 * half; col < columns; col += 8) {
        const auto s = fa::load<4>(&product_tile[own + row][col]);
        for (int c = 0; c < 4; ++c) {
          if (col + c < seen) m_new = fmaxf(m_new, scale * s[c]);
        }
      }
      m_new = fmaxf(m_new, __shfl_xor_sync(kAllLanes, m_new, 16));
      if (lane < rows) m[i + lane] = m_new;

      __syncwarp();  // all lanes have written m before one goes on: so step 3 can be checked by itself

      // Step 4: P = e^(scale S − m'), 0 where the query does not see the key, rounded to T in place of q; and l' =
      // e^(m − m') l + rowsum(P), of the weights before they are rounded (lines 10 and 11).
      float l_tile = 0.0f;
      for (int col = 4 * half; col < columns; col += 8) {
        const auto s = fa::load<4>(&product_tile[own + row][col]);
        fa::Vector<T, 4> p;
        for (int c = 0; c < 4; ++c) {
          const float w = col + c < seen ? weight(scale * s[c], m_new) : 0.0f;
          l_tile += w;
          p[c] = T(w);
        }
        fa::store(&left_tile[own + row][col], p);
      }
      l_tile += __shfl_xor_sync(kAllLanes, l_tile, 16);
      const float l_kept = weight(m_old, m_new) * l_old;
      const float l_new = l_kept + l_tile;
      if (lane < rows) l[i + lane] = l_new;
      __syncwarp();  // P is complete, and nobody reads S any more

      // Step 5: P V in place of S (line 12), 16 x 16 elements at a time.
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> pv[D / 16];
      for (int d = 0; d < D; d += 16) wmma::fill_fragment(pv[d / 16], 0.0f);
      for (int col = 0; col < columns; col += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> p_part;
        wmma::load_matrix_sync(p_part, &left_tile[own][col], left_columns);
        for (int d = 0; d < D; d += 16) {
          wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> v_part;
          wmma::load_matrix_sync(v_part, &v_tile[col][d], k_columns);
          wmma::mma_sync(pv[d / 16], p_part, v_part, pv[d / 16]);
        }
      }
      for (int d = 0; d < D; d += 16) {
        wmma::store_matrix_sync(&product_tile[own][d], pv[d / 16], product_columns, wmma::mem_row_major);
      }
      __syncwarp();  // P V is complete

      // partial' = (e^(m − m') l / l') partial + (1 / l') P V; after the last keys that these queries see, to out. As
      // long as a row has seen nothing, l is 0 and its result stays 0; 0 / 0 would be NaN.
      const float per_l = l_new == 0.0f ? 0.0f : 1.0f / l_new;
      const float kept = l_kept * per_l;
      const bool last = keys_seen(i + rows - 1, j + Bc, Nq, Nk, Bc, causal) == 0;
      const auto seen_values = [&](int left_row, int seen_keys, int d) {
        float sum = 0.0f;
        for (int col = 0; col < seen_keys; ++col) sum += float(left_tile[left_row][col]) * float(v_tile[col][d]);
        return sum;
      };
      for (int e = 4 * lane; e < kRows * D; e += 4 * 32) {
        const int r = e / D, d = e % D;
        const float new_weight = __shfl_sync(kAllLanes, per_l, r), old_weight = __shfl_sync(kAllLanes, kept, r);
        const int seen_by_r = __shfl_sync(kAllLanes, seen, r);
        if (r >= rows) continue;
        const fa::Index at = (i + r) * D + d;
        fa::Vector<float, 4> x = fa::load<4>(&product_tile[own + r][d]), old{};
        if (!first) old = fa::load<4>(partial + at);
        for (int c = 0; c < 4; ++c) {
          // A hidden key weighs 0, but 0 · NaN is NaN. Where that may have happened, add up again without it. Even the
          // last query may have hidden keys here: the product reads `columns` of them.
          if (seen_by_r < columns && !isfinite(x[c])) x[c] = seen_values(own + r, seen_by_r, d + c);
          x[c] = new_weight * x[c] + old_weight * old[c];
        }
        if (last) {
          fa::store(out + at, fa::Vector<T, 4>{T(x[0]), T(x[1]), T(x[2]), T(x[3])});
        } else {
          fa::store(partial + at, x);
        }
      }
    }
  }
}

}  // namespace

fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D) {
  // Step 1: k and v; q, then P; S, then P V.
  const auto& [Br, Bc] = tiles;
  return 2 * fa::shared_bytes<fa::half>(Bc * (D + kPadding)) +
         fa::shared_bytes<fa::half>(Br * (std::max(Bc, D) + kPadding)) +
         fa::shared_bytes<float>(Br * (std::max(Bc, D) + kFloatPadding));
}

template <fa::HalfPrecision T>
void absorb_tiles(const fa::DeviceBuffer<T>& q, const fa::DeviceBuffer<T>& k, const fa::DeviceBuffer<T>& v,
                  fa::DeviceBuffer<T>& out, State& state, const fa::Shape& shape, const fa::Options& options,
                  const fa::Tiles& tiles, fa::Index first_tile, fa::Index end_tile) {
  validate(q, k, v, out, state, shape, options, tiles, kMostWarps * kRows, 16);
  if (first_tile < 0)
    throw std::invalid_argument("first_tile = " + std::to_string(first_tile) + ": must be at least 0");
  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  const fa::Index shared = shared_memory_bytes(tiles, D);
  require_shared_memory(shared, tiles, D);
  end_tile = std::min(end_tile, std::max(fa::Index{1}, (Nk + Bc - 1) / Bc));  // without keys, tile 0 begins the state
  if (first_tile >= end_tile) return;
  const auto launch = [&]<auto kernel>() {
    fa::launch<kernel>({{shape.B, shape.H}, {tiles.Br / kRows * 32}, shared}, q.data(), k.data(), v.data(), out.data(),
                       state.partial.data(), state.m.data(), state.l.data(), shape.Nq, shape.Nk,
                       fa::scale_of(shape, options), options.causal, int(tiles.Br), int(tiles.Bc),
                       first_tile * tiles.Bc, end_tile * tiles.Bc);
  };
  if (D == 64) {
    launch.template operator()<attention_forward_kernel<T, 64>>();
  } else {
    launch.template operator()<attention_forward_kernel<T, 128>>();
  }
}

template <fa::HalfPrecision T>
void attention_forward(const fa::DeviceBuffer<T>& q, const fa::DeviceBuffer<T>& k, const fa::DeviceBuffer<T>& v,
                       fa::DeviceBuffer<T>& out, State& state, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles) {
  absorb_tiles(q, k, v, out, state, shape, options, tiles, 0, std::numeric_limits<fa::Index>::max());
}

// For both formats.
#define FA_INSTANTIATE(T)                                                                                             \
  template void absorb_tiles(const fa::DeviceBuffer<T>&, const fa::DeviceBuffer<T>&, const fa::DeviceBuffer<T>&,      \
                             fa::DeviceBuffer<T>&, State&, const fa::Shape&, const fa::Options&, const fa::Tiles&,    \
                             fa::Index, fa::Index);                                                                   \
  template void attention_forward(const fa::DeviceBuffer<T>&, const fa::DeviceBuffer<T>&, const fa::DeviceBuffer<T>&, \
                                  fa::DeviceBuffer<T>&, State&, const fa::Shape&, const fa::Options&,                 \
                                  const fa::Tiles&)
FA_INSTANTIATE(fa::half);
FA_INSTANTIATE(fa::bfloat16);
#undef FA_INSTANTIATE

}  // namespace lesson
