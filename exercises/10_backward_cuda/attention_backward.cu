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

  // TODO begin
  fa::todo("Step 2: delta, and an empty dq");
  // TODO end
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

    // TODO begin
    fa::todo("Step 3a: load a tile of K and V, begin its gradients");
    // TODO end

    for (fa::Index i = 0; i < Nq; i += Br) {
      const int rows = int(min(fa::Index{Br}, Nq - i));  // of this tile of Q

      // TODO begin
      fa::todo("Step 3b: skip what nobody sees, load the rows of Q");
      // TODO end

      // TODO begin
      fa::todo("Step 4a: P and dS");
      // TODO end

      // TODO begin
      fa::todo("Step 4b: dQ");
      // TODO end

      // TODO begin
      __syncthreads();  // for the check of step 4: all threads are done with dQ before one stops here
      fa::todo("Step 5a: dV and dK");
      // TODO end
    }

    // TODO begin
    fa::todo("Step 5b: store dK and dV");
    // TODO end
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
  // TODO begin
  fa::todo("Step 1: bytes of shared memory");
  // TODO end
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

  // TODO begin
  fa::todo("Step 6: the traffic as a formula");
  // TODO end
}

}  // namespace lesson
