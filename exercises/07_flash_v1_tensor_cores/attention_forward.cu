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
  // TODO begin
  fa::todo("Step 2a: ask for rows");
  // TODO end
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
    // TODO begin
    fa::todo("Step 2b: a tile of K and V");
    // TODO end

    for (fa::Index i = own; i < Nq; i += Br) {
      const int rows = int(min(fa::Index{kRows}, Nq - i));  // from query i on; the last ones may be fewer
      const bool first = j == 0;

      // TODO begin
      fa::todo("Step 2c: skip what nobody sees, load rows of q");
      // TODO end

      // TODO begin
      fa::todo("Step 3: scores, and the new maximum");
      // TODO end

      __syncwarp();  // all lanes have written m before one goes on: so step 3 can be checked by itself

      // TODO begin
      fa::todo("Step 4: weights, and the new sum");
      // TODO end

      // TODO begin
      fa::todo("Step 5: P V, and the new result");
      // TODO end
    }
  }
}

}  // namespace

fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D) {
  // TODO begin
  fa::todo("Step 1: bytes of shared memory");
  // TODO end
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
