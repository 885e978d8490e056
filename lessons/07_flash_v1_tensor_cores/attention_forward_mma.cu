// The same algorithm as attention_forward.cu, with the sums of a group of queries in registers. Given.
//
// What it changes: nvcuda::wmma does not say which thread holds which element of a tile, so scores must go through
// shared memory before anybody can find a row's maximum. The instruction behind it, mma.m16n8k16, does say it
// (fa/tensor_core.h): lane 4 g + t holds elements 2 t and 2 t + 1 of the rows g and g + 8. So S, P, the statistics and
// the sums P V stay in registers, and two shuffles find the maximum of a row. What S and P leave free in shared memory
// goes into larger tiles of K and V, and those mean fewer passes over the state in HBM.

#include "attention_forward.h"
#include "fa/tensor_core.h"
#include "operands.h"

namespace lesson {
namespace {

constexpr int kMostWarps = 8;  // of a block: each thread takes up to 255 registers
constexpr unsigned kAllLanes = 0xffff'ffff;
constexpr int kPadding = 8;  // of T: 8 rows, one after another, lie in different banks
constexpr int kChunk = 64;   // keys whose scores a warp holds at a time

constexpr float kLog2e = 1.44269504f;  // e^x = 2^(x log2 e)

__device__ int keys_seen(fa::Index i, fa::Index j, fa::Index Nq, fa::Index Nk, int Bc, bool causal) {
  const fa::Index end = causal ? min(Nk, i + Nk - Nq + 1) : Nk;
  return int(max(fa::Index{0}, min(fa::Index{Bc}, end - j)));
}

// e^(score − m), for m ≥ score. Where m is −inf, too, `base_of` puts 0 in its place: −inf − −inf would be NaN. The
// difference comes first: it is exact where it matters, and two products with log2 e are not.
__device__ float base_of(float m) { return m == -INFINITY ? 0.0f : m; }
__device__ float weight(float score, float base) { return fa::exp2_fast((score - base) * kLog2e); }

// Over the four lanes that hold a row.
__device__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

template <class T, int D>
__device__ void copy_tile(fa::SharedMatrix<T> tile,  // (Bc, D + kPadding)
                          fa::hbm<const T> matrix,   // (Nk, D)
                          fa::Index first, int Bc, fa::Index Nk) {
  for (int e = 8 * int(threadIdx.x); e < Bc * D; e += 8 * int(blockDim.x)) {
    const int row = e / D, d = e % D;
    __pipeline_memcpy_async(&tile[row][d], matrix + (first + row) * D + d, 16, first + row < Nk ? 0 : 16);
  }
}

// What a warp holds of its 16 queries, by lane. Index h of a pair of rows: row g + 8 h of the group.
template <class T, int D>
struct Group {
  fa::mma::A<T> q[D / 16];        // (16, D)
  fa::mma::Accumulator u[D / 8];  // (16, D)  the sum of e^(score − m) v
  float m[2];                     // of rows g and g + 8
  float l[2];                     // this lane's part of the sum of e^(score − m)
};

// S = Q Kᵀ for keys c to c + kChunk − 1 of the tile.
template <class T, int D>
__device__ void scores(fa::mma::Accumulator (&s)[kChunk / 8], const Group<T, D>& group, fa::SharedMatrix<T> k_tile,
                       int c) {
#pragma unroll
  for (int n = 0; n < kChunk / 8; ++n) s[n] = {};
#pragma unroll
  for (int d = 0; d < D; d += 16) {
#pragma unroll
    for (int n = 0; n < kChunk; n += 16) {
      fa::mma::B<T> k[2];
      fa::mma::load_columns(k, k_tile, c + n, d);
      fa::mma::multiply(s[n / 8], group.q[d / 16], k[0]);
      fa::mma::multiply(s[n / 8 + 1], group.q[d / 16], k[1]);
    }
  }
}

// P = e^(S − m') in place of S, and m, l and u of row g + 8 h brought to m'. Of the chunk, the row sees the first
// `seen` keys.
template <class T, int D>
__device__ void weights(fa::mma::Accumulator (&s)[kChunk / 8], Group<T, D>& group, int h, float scale, int seen) {
  const int t = int(threadIdx.x) % 4;
  float m_new = group.m[h];
#pragma unroll
  for (int n = 0; n < kChunk / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& x = s[n].x[2 * h + e];
      x = 8 * n + 2 * t + e < seen ? scale * x : -INFINITY;
      m_new = fmaxf(m_new, x);
    }
  }
  m_new = row_max(m_new);
  const float base = base_of(m_new);
  const float kept = weight(group.m[h], base);
  group.m[h] = m_new;
  group.l[h] *= kept;
#pragma unroll
  for (int n = 0; n < D / 8; ++n) {
    group.u[n].x[2 * h] *= kept;
    group.u[n].x[2 * h + 1] *= kept;
  }
#pragma unroll
  for (int n = 0; n < kChunk / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& x = s[n].x[2 * h + e];
      x = weight(x, base);
      group.l[h] += x;
    }
  }
}

// [add-values]
// u += P V. Two accumulators of S, side by side, are the left operand of the next product: the layouts agree.
template <class T, int D>
__device__ void add_values(Group<T, D>& group, const fa::mma::Accumulator (&p)[kChunk / 8], fa::SharedMatrix<T> v_tile,
                           int c) {
#pragma unroll
  for (int n = 0; n < kChunk; n += 16) {
    const auto &left = p[n / 8], &right = p[n / 8 + 1];
    const fa::mma::A<T> a{fa::mma::pack<T>(left.x[0], left.x[1]), fa::mma::pack<T>(left.x[2], left.x[3]),
                          fa::mma::pack<T>(right.x[0], right.x[1]), fa::mma::pack<T>(right.x[2], right.x[3])};
#pragma unroll
    for (int d = 0; d < D; d += 16) {
      fa::mma::B<T> v[2];
      fa::mma::load_rows(v, v_tile, c + n, d);
      fa::mma::multiply(group.u[d / 8], a, v[0]);
      fa::mma::multiply(group.u[d / 8 + 1], a, v[1]);
    }
  }
}
// [/add-values]

// Whether v has a NaN or an infinity in the rows first to end - 1 of the tile. All lanes of the warp look for it.
template <class T, int D>
__device__ bool any_not_finite(fa::SharedMatrix<T> v_tile, int first, int end) {
  bool found = false;
  for (int e = int(threadIdx.x) % 32; e < (end - first) * D; e += 32) {
    found = found || !isfinite(float(v_tile[first + e / D][e % D]));
  }
  return __any_sync(kAllLanes, found);
}

// u += P V for row g + 8 h, key by key, without those that it does not see: their weight is 0, but 0 · NaN is NaN.
template <class T, int D>
__device__ void add_seen_values(Group<T, D>& group, const fa::mma::Accumulator (&p)[kChunk / 8],
                                fa::SharedMatrix<T> v_tile, int c, int h, int seen) {
  const int lane = int(threadIdx.x) % 32, t = lane % 4;
#pragma unroll
  for (int col = 0; col < kChunk; ++col) {
    const float mine = p[col / 8].x[2 * h + col % 2];
    const float weight = float(T(__shfl_sync(kAllLanes, mine, lane - t + col % 8 / 2)));
    if (col >= seen) continue;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) group.u[n].x[2 * h + e] += weight * float(v_tile[c + col][8 * n + 2 * t + e]);
    }
  }
}

template <class T, int D>
__global__ void __launch_bounds__(32 * kMostWarps, 1)
    attention_forward_mma_kernel(fa::hbm<const T> q,      // (B, H, Nq, D)
                                 fa::hbm<const T> k,      // (B, H, Nk, D)
                                 fa::hbm<const T> v,      // (B, H, Nk, D)
                                 fa::hbm<T> out,          // (B, H, Nq, D)
                                 fa::hbm<float> partial,  // (B, H, Nq, D)
                                 fa::hbm<float> m,        // (B, H, Nq)
                                 fa::hbm<float> l,        // (B, H, Nq)
                                 fa::Index Nq, fa::Index Nk, float scale, bool causal, int Br, int Bc) {
  fa::DynamicShared memory;
  const auto k_tile = memory.matrix<T>("k_tile", Bc, D + kPadding);
  const auto v_tile = memory.matrix<T>("v_tile", Bc, D + kPadding);

  const fa::Index head = fa::Index{blockIdx.x} * gridDim.y + blockIdx.y;  // b · H + h
  q = q + head * Nq * D, out = out + head * Nq * D, partial = partial + head * Nq * D;
  m = m + head * Nq, l = l + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D;

  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;

  for (fa::Index j = 0; j == 0 || j < Nk; j += Bc) {
    __syncthreads();  // before the last tiles are overwritten, which others may still read
    copy_tile<T, D>(k_tile, k, j, Bc, Nk);
    copy_tile<T, D>(v_tile, v, j, Bc, Nk);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // what all threads copied has arrived

    for (fa::Index i = warp * kRows; i < Nq; i += Br) {
      const fa::Index last_row = min(i + kRows, Nq) - 1;
      const int keys = keys_seen(last_row, j, Nq, Nk, Bc, causal);
      if (keys == 0 && j > 0) continue;

      // The rows of q, and of the state, which goes on where the last tile left it: u = l partial. Nothing waits for
      // u before the first scores are there.
      Group<T, D> group;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const fa::Index row = i + g + 8 * h;
        const bool there = row < Nq, begun = there && j > 0;
        float m_old = -INFINITY, l_old = 0.0f;
        if (begun && t == 0) m_old = m[row], l_old = l[row];  // once, for the four lanes of the row
        group.l[h] = l_old;
        l_old = __shfl_sync(kAllLanes, l_old, 4 * g);
        group.m[h] = __shfl_sync(kAllLanes, m_old, 4 * g);
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
          const fa::Index at = row * D + 8 * n + 2 * t;
          fa::Vector<T, 2> of_q{};
          fa::Vector<float, 2> old{};
          if (there) of_q = fa::load<2>(q + at);
          if (begun) old = fa::load<2>(partial + at);
          group.q[n / 2].pair[2 * (n % 2) + h] = fa::mma::pack<T>(float(of_q[0]), float(of_q[1]));
          group.u[n].x[2 * h] = l_old * old[0];
          group.u[n].x[2 * h + 1] = l_old * old[1];
        }
      }

      for (int c = 0; c < keys; c += kChunk) {
        fa::mma::Accumulator s[kChunk / 8];
        scores(s, group, k_tile, c);
        int seen[2];  // of the chunk, by rows g and g + 8
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          seen[h] = keys_seen(i + g + 8 * h, j, Nq, Nk, Bc, causal) - c;
          weights(s, group, h, scale, seen[h]);
        }
        // On the diagonal, add_values multiplies keys that some of the queries, or all, do not see. Past Nk, v is zero.
        const int seen_by_all = max(c, keys_seen(i, j, Nq, Nk, Bc, causal));
        const int multiplied = int(min(fa::Index{c + kChunk}, Nk - j));
        if (seen_by_all < multiplied && any_not_finite<T, D>(v_tile, seen_by_all, multiplied)) {
#pragma unroll
          for (int h = 0; h < 2; ++h) add_seen_values(group, s, v_tile, c, h, seen[h]);
        } else {
          add_values(group, s, v_tile, c);
        }
      }

      // partial = u / l, as V1 keeps it; after the last keys that the group sees, to out.
      const bool last = keys_seen(last_row, j + Bc, Nq, Nk, Bc, causal) == 0;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const fa::Index row = i + g + 8 * h;
        const float l_new = row_sum(group.l[h]);
        const float per_l = l_new == 0.0f ? 0.0f : 1.0f / l_new;
        if (row >= Nq) continue;
        if (t == 0) m[row] = group.m[h], l[row] = l_new;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
          const fa::Index at = row * D + 8 * n + 2 * t;
          const float x = per_l * group.u[n].x[2 * h], y = per_l * group.u[n].x[2 * h + 1];
          if (last) {
            fa::store(out + at, fa::Vector<T, 2>{T(x), T(y)});
          } else {
            fa::store(partial + at, fa::Vector<float, 2>{x, y});
          }
        }
      }
    }
  }
}

}  // namespace

fa::Index shared_memory_bytes_mma(const fa::Tiles& tiles, fa::Index D) {
  return 2 * fa::shared_bytes<fa::half>(tiles.Bc * (D + kPadding));
}

template <fa::HalfPrecision T>
void attention_forward_mma(const fa::DeviceBuffer<T>& q, const fa::DeviceBuffer<T>& k, const fa::DeviceBuffer<T>& v,
                           fa::DeviceBuffer<T>& out, State& state, const fa::Shape& shape, const fa::Options& options,
                           const fa::Tiles& tiles) {
  validate(q, k, v, out, state, shape, options, tiles, kMostWarps * kRows, kChunk);
  const auto& [B, H, Nq, Nk, D] = shape;
  const fa::Index shared = shared_memory_bytes_mma(tiles, D);
  require_shared_memory(shared, tiles, D);
  const auto launch = [&]<auto kernel>() {
    fa::launch<kernel>({{shape.B, shape.H}, {tiles.Br / kRows * 32}, shared}, q.data(), k.data(), v.data(), out.data(),
                       state.partial.data(), state.m.data(), state.l.data(), shape.Nq, shape.Nk,
                       fa::scale_of(shape, options), options.causal, int(tiles.Br), int(tiles.Bc));
  };
  if (D == 64) {
    launch.template operator()<attention_forward_mma_kernel<T, 64>>();
  } else {
    launch.template operator()<attention_forward_mma_kernel<T, 128>>();
  }
}

// For both formats.
#define FA_INSTANTIATE(T)                                                                                         \
  template void attention_forward_mma(const fa::DeviceBuffer<T>&, const fa::DeviceBuffer<T>&,                     \
                                      const fa::DeviceBuffer<T>&, fa::DeviceBuffer<T>&, State&, const fa::Shape&, \
                                      const fa::Options&, const fa::Tiles&)
FA_INSTANTIATE(fa::half);
FA_INSTANTIATE(fa::bfloat16);
#undef FA_INSTANTIATE

}  // namespace lesson
