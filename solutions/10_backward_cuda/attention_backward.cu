// FlashAttention V1, backward pass, in CUDA. Dao et al. 2022 (arXiv:2205.14135), Algorithm 4.
//
// Extends lesson 06: the same grid, the same loops, and the tiles of S again. Each of them now feeds three gradients:
// dk and dv stay with their K/V tile in shared memory, dq is what travels. It is lesson 09's pass as a kernel.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attention_backward.h"

namespace lesson {
namespace {

constexpr int kThreads = 256;  // of a block
constexpr int kWarp = 32;
constexpr int kRowsOfPrepare = kThreads / kWarp;  // rows, and warps, of a block of prepare_kernel
constexpr unsigned kAllLanes = 0xffff'ffff;

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// How many of the keys j, j + 1, ... j + Bc − 1 query i sees. They are always the first ones.
__device__ int keys_seen(fa::Index i, fa::Index j, fa::Index Nq, fa::Index Nk, int Bc, bool causal) {
  const fa::Index end = causal ? min(Nk, i + Nk - Nq + 1) : Nk;
  return int(max(fa::Index{0}, min(fa::Index{Bc}, end - j)));
}

// Copies rows first, first + 1, ... of `matrix` into `tile`.
__device__ void load_tile(fa::SharedMatrix<float> tile,  // (rows, D), or with a column of padding
                          fa::hbm<const float> matrix,   // (N, D)
                          fa::Index first, int rows, int D) {
  for (int e = int(threadIdx.x); e < rows * D; e += kThreads) tile[e / D][e % D] = matrix[first * D + e];
}

__global__ void prepare_kernel(fa::hbm<const float> out,   // (rows, D)
                               fa::hbm<const float> dout,  // (rows, D)
                               fa::hbm<float> delta,       // (rows)
                               fa::hbm<float> dq,          // (rows, D)
                               fa::Index rows, int D) {
  // A warp is one row of threads: threadIdx.x is the lane.
  const fa::Index row = fa::Index{blockIdx.x} * kRowsOfPrepare + threadIdx.y;
  if (row >= rows) return;  // the whole warp leaves, and no barrier of the block is ahead

  // Step 2: a lane takes every 32nd column. Then the lanes add up what they have, as in lesson 05.
  float sum = 0.0f;
  for (int d = int(threadIdx.x); d < D; d += kWarp) {
    sum += dout[row * D + d] * out[row * D + d];
    dq[row * D + d] = 0.0f;
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
  if (threadIdx.x == 0) delta[row] = sum;
}

__global__ void attention_backward_kernel(fa::hbm<const float> q,      // (B, H, Nq, D)
                                          fa::hbm<const float> k,      // (B, H, Nk, D)
                                          fa::hbm<const float> v,      // (B, H, Nk, D)
                                          fa::hbm<const float> m,      // (B, H, Nq)
                                          fa::hbm<const float> l,      // (B, H, Nq)
                                          fa::hbm<const float> dout,   // (B, H, Nq, D)
                                          fa::hbm<const float> delta,  // (B, H, Nq)
                                          fa::hbm<float> dq,           // (B, H, Nq, D)
                                          fa::hbm<float> dk,           // (B, H, Nk, D)
                                          fa::hbm<float> dv,           // (B, H, Nk, D)
                                          fa::Index Nq, fa::Index Nk, int D, float scale, bool causal, int Br, int Bc,
                                          fa::Index first_key, fa::Index end_key) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", Br, D);
  const auto dout_tile = memory.matrix<float>("dout_tile", Br, D);
  const auto k_tile = memory.matrix<float>("k_tile", Bc, D + 1);  // step 4 reads columns of it: padding, see lesson 05
  const auto v_tile = memory.matrix<float>("v_tile", Bc, D + 1);
  const auto dk_tile = memory.matrix<float>("dk_tile", Bc, D);
  const auto dv_tile = memory.matrix<float>("dv_tile", Bc, D);
  const auto p_tile = memory.matrix<float>("p_tile", Br, Bc);
  const auto ds_tile = memory.matrix<float>("ds_tile", Br, Bc);
  const auto m_tile = memory.array<float>("m_tile", Br);
  const auto l_tile = memory.array<float>("l_tile", Br);
  const auto delta_tile = memory.array<float>("delta_tile", Br);

  const fa::Index head = fa::Index{blockIdx.x} * gridDim.y + blockIdx.y;  // b · H + h
  q = q + head * Nq * D, dout = dout + head * Nq * D, dq = dq + head * Nq * D;
  m = m + head * Nq, l = l + head * Nq, delta = delta + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D, dk = dk + head * Nk * D, dv = dv + head * Nk * D;

  for (fa::Index j = first_key; j < end_key; j += Bc) {
    const int columns = int(min(fa::Index{Bc}, Nk - j));  // of this K/V tile; the last one may be partial

    // Step 3a: this tile of K and V, once for all queries, and its gradients, which begin with 0. An element of these
    // belongs to one thread until the end, always the same, so they need no barrier.
    load_tile(k_tile, k, j, columns, D);
    load_tile(v_tile, v, j, columns, D);
    for (int e = int(threadIdx.x); e < columns * D; e += kThreads) {
      dk_tile[e / D][e % D] = 0.0f;
      dv_tile[e / D][e % D] = 0.0f;
    }

    for (fa::Index i = 0; i < Nq; i += Br) {
      const int rows = int(min(fa::Index{Br}, Nq - i));  // of this tile of Q

      // Step 3b: the last query of the tile sees the most keys. If it sees none of these, nobody does. All threads of
      // the block agree on that, so they leave out the barriers below together.
      if (keys_seen(i + rows - 1, j, Nq, Nk, Bc, causal) == 0) continue;
      load_tile(q_tile, q, i, rows, D);
      load_tile(dout_tile, dout, i, rows, D);
      for (int row = int(threadIdx.x); row < rows; row += kThreads) {
        m_tile[row] = m[i + row];
        l_tile[row] = l[i + row];
        delta_tile[row] = delta[i + row];
      }
      __syncthreads();  // the tiles are complete

      // Step 4a: P again, from m and l, and dS = P ∘ (dP − delta). Nothing is written for a hidden pair, since nobody
      // reads it below.
      for (int e = int(threadIdx.x); e < rows * columns; e += kThreads) {
        const int row = e / columns, col = e % columns;
        if (col >= keys_seen(i + row, j, Nq, Nk, Bc, causal)) continue;
        float s = 0.0f, dp = 0.0f;
        for (int d = 0; d < D; ++d) {
          s += q_tile[row][d] * k_tile[col][d];
          dp += dout_tile[row][d] * v_tile[col][d];
        }
        // If l is 0, every score of the row is −inf and so is m: e^(−inf − −inf) would be NaN.
        const float p = l_tile[row] == 0.0f ? 0.0f : expf(scale * s - m_tile[row]) / l_tile[row];
        p_tile[row][col] = p;
        ds_tile[row][col] = p * (dp - delta_tile[row]);
      }
      __syncthreads();  // P and dS are complete

      // Step 4b: dQ += scale · dS K, in HBM. Hidden keys are left out rather than weighted with 0: 0 · NaN is NaN.
      for (int e = int(threadIdx.x); e < rows * D; e += kThreads) {
        const int row = e / D, d = e % D;
        const int keys = keys_seen(i + row, j, Nq, Nk, Bc, causal);
        float sum = 0.0f;
        for (int col = 0; col < keys; ++col) sum += ds_tile[row][col] * k_tile[col][d];
        dq[i * D + e] += scale * sum;
      }

      // Step 5a: dV += Pᵀ dO and dK += dSᵀ Q. Under a causal mask, the queries that see key j + col are the last ones:
      // from j + col − (Nk − Nq) on.
      for (int e = int(threadIdx.x); e < columns * D; e += kThreads) {
        const int col = e / D, d = e % D;
        const int first = causal ? int(max(fa::Index{0}, j + col - (Nk - Nq) - i)) : 0;
        float dk_sum = dk_tile[col][d], dv_sum = dv_tile[col][d];
        for (int row = first; row < rows; ++row) {
          dk_sum += ds_tile[row][col] * q_tile[row][d];
          dv_sum += p_tile[row][col] * dout_tile[row][d];
        }
        dk_tile[col][d] = dk_sum;
        dv_tile[col][d] = dv_sum;
      }
      __syncthreads();  // before the next tiles overwrite what others still read
    }

    // Step 5b: no other query adds to these.
    for (int e = int(threadIdx.x); e < columns * D; e += kThreads) {
      dk[j * D + e] = scale * dk_tile[e / D][e % D];
      dv[j * D + e] = dv_tile[e / D][e % D];
    }
  }
}

void validate(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
              const fa::DeviceBuffer<float>& m, const fa::DeviceBuffer<float>& l, const fa::DeviceBuffer<float>& dout,
              const fa::DeviceBuffer<float>& dq, const fa::DeviceBuffer<float>& dk, const fa::DeviceBuffer<float>& dv,
              const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);
  if (shape.H > 65535)
    throw std::invalid_argument("H = " + std::to_string(shape.H) + ": must be at most 65535, for a grid");
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("m", m.size(), fa::query_rows(shape));
  fa::require_elements("l", l.size(), fa::query_rows(shape));
  fa::require_elements("dout", dout.size(), fa::query_elements(shape));
  fa::require_elements("dq", dq.size(), fa::query_elements(shape));
  fa::require_elements("dk", dk.size(), fa::key_elements(shape));
  fa::require_elements("dv", dv.size(), fa::key_elements(shape));

  const fa::Index asked = shared_memory_bytes(tiles, shape.D), limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::length_error("shared memory: Br = " + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc) +
                          ", D = " + std::to_string(shape.D) + " need " + std::to_string(asked) +
                          " bytes, but a block has " + std::to_string(limit) + " on this device");
}

}  // namespace

fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D) {
  // Step 1: q, dout; k, v; dk, dv; P, dS; m, l, delta.
  const auto& [Br, Bc] = tiles;
  return 2 * fa::shared_bytes<float>(Br * D) + 2 * fa::shared_bytes<float>(Bc * (D + 1)) +
         2 * fa::shared_bytes<float>(Bc * D) + 2 * fa::shared_bytes<float>(Br * Bc) + 3 * fa::shared_bytes<float>(Br);
}

void prepare(const fa::DeviceBuffer<float>& out, const fa::DeviceBuffer<float>& dout, fa::DeviceBuffer<float>& delta,
             fa::DeviceBuffer<float>& dq, const fa::Shape& shape) {
  fa::validate(shape, {});
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("dout", dout.size(), fa::query_elements(shape));
  fa::require_elements("delta", delta.size(), fa::query_rows(shape));
  fa::require_elements("dq", dq.size(), fa::query_elements(shape));
  const fa::Index rows = fa::query_rows(shape);
  if (rows == 0) return;  // a grid without blocks cannot be launched
  fa::launch<prepare_kernel>({{ceil_div(rows, kRowsOfPrepare)}, {kWarp, kRowsOfPrepare}}, out.data(), dout.data(),
                             delta.data(), dq.data(), rows, int(shape.D));
}

void absorb_tiles(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
                  const fa::DeviceBuffer<float>& m, const fa::DeviceBuffer<float>& l,
                  const fa::DeviceBuffer<float>& dout, const fa::DeviceBuffer<float>& delta,
                  fa::DeviceBuffer<float>& dq, fa::DeviceBuffer<float>& dk, fa::DeviceBuffer<float>& dv,
                  const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile,
                  fa::Index end_tile) {
  validate(q, k, v, m, l, dout, dq, dk, dv, shape, options, tiles);
  fa::require_elements("delta", delta.size(), fa::query_rows(shape));
  if (first_tile < 0)
    throw std::invalid_argument("first_tile = " + std::to_string(first_tile) + ": must be at least 0");
  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  end_tile = std::min(end_tile, ceil_div(Nk, Bc));
  if (first_tile >= end_tile) return;
  fa::launch<attention_backward_kernel>({{B, H}, {kThreads}, shared_memory_bytes(tiles, D)}, q.data(), k.data(),
                                        v.data(), m.data(), l.data(), dout.data(), delta.data(), dq.data(), dk.data(),
                                        dv.data(), Nq, Nk, int(D), fa::scale_of(shape, options), options.causal,
                                        int(Br), int(Bc), first_tile * Bc, end_tile * Bc);
}

void attention_backward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                        const fa::DeviceBuffer<float>& v, const fa::DeviceBuffer<float>& out,
                        const fa::DeviceBuffer<float>& m, const fa::DeviceBuffer<float>& l,
                        const fa::DeviceBuffer<float>& dout, fa::DeviceBuffer<float>& dq, fa::DeviceBuffer<float>& dk,
                        fa::DeviceBuffer<float>& dv, const fa::Shape& shape, const fa::Options& options,
                        const fa::Tiles& tiles, fa::DeviceScratch& scratch) {
  validate(q, k, v, m, l, dout, dq, dk, dv, shape, options, tiles);
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::DeviceBuffer<float> delta = scratch.allocate<float>("delta", fa::query_rows(shape));
  prepare(out, dout, delta, dq, shape);
  absorb_tiles(q, k, v, m, l, dout, delta, dq, dk, dv, shape, options, tiles, 0, ceil_div(shape.Nk, tiles.Bc));
}

fa::Traffic backward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);

  // Step 6: rows that meet a K/V tile, summed over the pairs of tiles of a head, as in lessons 04 and 09.
  const auto& [B, H, Nq, Nk, D] = shape;
  fa::Index rows_met = 0;
  for (fa::Index i = 0; i < Nq; i += tiles.Br) {
    const fa::Index rows = std::min(tiles.Br, Nq - i);
    rows_met += rows * ceil_div(fa::visible_keys(shape, options, i + rows - 1), tiles.Bc);
  }
  const fa::Index prepare_read = 2 * Nq * D, prepare_written = Nq + Nq * D;  // out, dout; delta, dq
  const fa::Index read = 2 * Nk * D + rows_met * (3 * D + 3);                // k, v; q, dout, dq, m, l, delta
  const fa::Index written = 2 * Nk * D + rows_met * D;                       // dk, dv; dq
  const fa::Index bytes = B * H * fa::Index{sizeof(float)};
  return {bytes * (prepare_read + read), bytes * (prepare_written + written)};
}

}  // namespace lesson
