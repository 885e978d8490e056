// FlashAttention-2, forward pass, in CUDA, float. Dao 2023 (arXiv:2307.08691), Algorithm 1.
//
// Against lesson 06 the loops change places. A block owns one Q tile of one head, so the grid has ⌈Nq / Br⌉ times as
// many blocks; m, l and u stay in registers while the K/V tiles pass, and HBM sees the result once, after one division.
// Besides, a thread computes a small tile of S and of u in place of single elements: what it loads from shared memory
// serves several multiplications.

#include <stdexcept>
#include <string>
#include <utility>

#include "attention_forward.h"

namespace lesson {
namespace {

constexpr int kRows = 4;   // rows of a thread: neighbors in the tile
constexpr int kLanes = 8;  // threads that share these rows, neighbors in a warp; each has every 8th column
constexpr int kThreads = Br / kRows * kLanes;
constexpr int kScores = Bc / kLanes;  // scores of a thread in a row
constexpr unsigned kAllLanes = 0xffff'ffff;

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

// How many keys query i sees. They are always the first ones.
__device__ fa::Index visible_keys(fa::Index i, fa::Index Nq, fa::Index Nk, bool causal) {
  return causal ? max(fa::Index{0}, min(Nk, i + Nk - Nq + 1)) : Nk;
}

// Copies rows first, first + 1, ... of `matrix` into `tile`. What lies outside of the matrix becomes 0.
template <int Rows, int Columns>
__device__ void load_tile(fa::SharedMatrix<float> tile,  // (Rows, Columns), and a column of padding
                          fa::hbm<const float> matrix,   // (N, D)
                          fa::Index first, fa::Index N, int D) {
  // Step 3a: the columns past D are zeros too, so that all loops over columns may run to Columns.
  for (int e = int(threadIdx.x); e < Rows * Columns; e += kThreads) {
    const int row = e / Columns, d = e % Columns;
    tile[row][d] = first + row < N && d < D ? float(matrix[(first + row) * D + d]) : 0.0f;
  }
}

template <int Columns>  // padded_columns(D)
__global__ void __launch_bounds__(kThreads)
    attention_forward_kernel(fa::hbm<const float> q,  // (B, H, Nq, D)
                             fa::hbm<const float> k,  // (B, H, Nk, D)
                             fa::hbm<const float> v,  // (B, H, Nk, D)
                             fa::hbm<float> out,      // (B, H, Nq, D)
                             fa::hbm<float> lse,      // (B, H, Nq)
                             fa::Index Nq, fa::Index Nk, int D, float scale, bool causal) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", Br, Columns + 1);
  const auto k_tile = memory.matrix<float>("k_tile", Bc, Columns + 1);
  const auto v_tile = memory.matrix<float>("v_tile", Bc, Columns + 1);
  const auto p_tile = memory.matrix<float>("p_tile", Br, Bc + 1);

  // Step 2a: blockIdx is (tile of queries, h, b), as grid() made it.
  const fa::Index i = fa::Index{blockIdx.x} * Br;                         // the first query of the tile
  const fa::Index head = fa::Index{blockIdx.z} * gridDim.y + blockIdx.y;  // b · H + h
  q = q + head * Nq * D, out = out + head * Nq * D, lse = lse + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D;

  constexpr int kValues = Columns / kLanes;                 // values of a thread in a row of u
  const int first_row = int(threadIdx.x) / kLanes * kRows;  // rows first_row, first_row + 1, ...
  const int lane = int(threadIdx.x) % kLanes;               // columns lane, lane + 8, ...

  // The state of lesson 02, in registers. All 8 threads of a row agree on m. Each has the l of its own keys, and the u
  // of its own columns.
  float m[kRows], l[kRows], u[kRows][kValues];

  // Step 2b: no key seen yet.
  for (int r = 0; r < kRows; ++r) {
    m[r] = -INFINITY;
    l[r] = 0.0f;
    for (int c = 0; c < kValues; ++c) u[r][c] = 0.0f;
  }

  // Step 3b: the tile of Q, once. A later query sees at least the keys of an earlier one, so the last one of the tile
  // says which keys the block needs, and the first one which keys all of its queries see.
  load_tile<Br, Columns>(q_tile, q, i, Nq, D);
  const fa::Index seen_by_first = visible_keys(i, Nq, Nk, causal);
  const fa::Index seen_by_last = visible_keys(min(i + Br, Nq) - 1, Nq, Nk, causal);

  for (fa::Index j = 0; j < seen_by_last; j += Bc) {
    // Step 3c: this tile of K and V.
    __syncthreads();  // before the last tiles are overwritten, which others may still read
    load_tile<Bc, Columns>(k_tile, k, j, Nk, D);
    load_tile<Bc, Columns>(v_tile, v, j, Nk, D);
    __syncthreads();  // the tiles are complete

    // Step 4a: S = Q Kᵀ, 4 × 4 of it in each thread. What is loaded for one d serves 16 multiplications.
    float s[kRows][kScores] = {};
#pragma unroll 8
    for (int d = 0; d < Columns; ++d) {
      float q_d[kRows], k_d[kScores];
      for (int r = 0; r < kRows; ++r) q_d[r] = q_tile[first_row + r][d];
      for (int c = 0; c < kScores; ++c) k_d[c] = k_tile[lane + c * kLanes][d];
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kScores; ++c) s[r][c] += q_d[r] * k_d[c];
      }
    }

    // Step 4b: how many keys of this tile each row sees. Only where the first query of the block does not see all of
    // them must that be worked out: on the diagonal, and in the last tile.
    const bool masked = seen_by_first < j + Bc;
    int keys[kRows];
    for (int r = 0; r < kRows; ++r) {
      keys[r] = masked ? int(min(fa::Index{Bc}, visible_keys(i + first_row + r, Nq, Nk, causal) - j)) : Bc;
    }

    // Step 4c: m', and P = e^(S − m') in shared memory. What is kept of l and u is scaled.
    for (int r = 0; r < kRows; ++r) {
      float m_new = m[r];
      for (int c = 0; c < kScores; ++c) {
        s[r][c] = lane + c * kLanes < keys[r] ? scale * s[r][c] : -INFINITY;
        m_new = fmaxf(m_new, s[r][c]);
      }
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        m_new = fmaxf(m_new, __shfl_xor_sync(kAllLanes, m_new, distance));
      }
      const float kept = weight(m[r], m_new);
      m[r] = m_new;
      l[r] *= kept;
      for (int c = 0; c < kValues; ++c) u[r][c] *= kept;
      for (int c = 0; c < kScores; ++c) {
        const float p = weight(s[r][c], m_new);
        l[r] += p;
        p_tile[first_row + r][lane + c * kLanes] = p;
      }
    }
    __syncwarp();  // the 8 threads of a row are in one warp: no other warp reads these rows

    // Step 5a: u += P V. Hidden keys are left out rather than weighted with 0, since 0 · NaN is NaN.
    for (int col = 0; col < Bc; ++col) {
      float p_col[kRows], v_col[kValues];
      for (int r = 0; r < kRows; ++r) p_col[r] = p_tile[first_row + r][col];
      for (int c = 0; c < kValues; ++c) v_col[c] = v_tile[col][lane + c * kLanes];
      for (int r = 0; r < kRows; ++r) {
        if (col >= keys[r]) continue;
        for (int c = 0; c < kValues; ++c) u[r][c] += p_col[r] * v_col[c];
      }
    }
  }

  // Step 2c: the threads of a row add up their shares of l. One of them writes lse.
  for (int r = 0; r < kRows; ++r) {
    for (int distance = kLanes / 2; distance > 0; distance /= 2) l[r] += __shfl_xor_sync(kAllLanes, l[r], distance);
    const fa::Index row = i + first_row + r;
    if (lane == 0 && row < Nq) lse[row] = m[r] + logf(l[r]);
  }

  // Step 5b: the only division, and the only time that out crosses. A row with l = 0 has u = 0, and 0 / 0 would be NaN.
  for (int r = 0; r < kRows; ++r) {
    const fa::Index row = i + first_row + r;
    if (row >= Nq) continue;
    const float divisor = l[r] == 0.0f ? 1.0f : l[r];
    for (int c = 0; c < kValues; ++c) {
      const int d = lane + c * kLanes;
      if (d < D) out[row * D + d] = u[r][c] / divisor;
    }
  }
}

void validate(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
              const fa::DeviceBuffer<float>& out, const fa::DeviceBuffer<float>& lse, const fa::Shape& shape,
              const fa::Options& options) {
  fa::validate(shape, options);
  for (const auto& [name, blocks] : {std::pair{"B", shape.B}, std::pair{"H", shape.H}}) {
    if (blocks <= 65535) continue;
    throw std::invalid_argument(std::string(name) + " = " + std::to_string(blocks) +
                                ": must be at most 65535, for a grid");
  }
  if (shape.D > 128) throw std::invalid_argument("D = " + std::to_string(shape.D) + ": must be at most 128");
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("lse", lse.size(), fa::query_rows(shape));

  const fa::Index asked = shared_memory_bytes(shape.D), limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::length_error("shared memory: D = " + std::to_string(shape.D) + " needs " + std::to_string(asked) +
                          " bytes, but a block has " + std::to_string(limit) + " on this device");
}

}  // namespace

fa::Extents grid(const fa::Shape& shape) {
  // Step 1a: a block for each tile of queries. Neighbors have the same head: they share its K and V in L2.
  return {ceil_div(shape.Nq, Br), shape.H, shape.B};
}

fa::Index shared_memory_bytes(fa::Index D) {
  // Step 1b: q; k and v; P.
  const fa::Index C = padded_columns(D);
  return fa::shared_bytes<float>(Br * (C + 1)) + 2 * fa::shared_bytes<float>(Bc * (C + 1)) +
         fa::shared_bytes<float>(Br * (Bc + 1));
}

void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& lse,
                       const fa::Shape& shape, const fa::Options& options) {
  validate(q, k, v, out, lse, shape, options);
  if (fa::query_rows(shape) == 0) return;  // a grid without blocks cannot be launched
  const fa::LaunchShape launch{grid(shape), {kThreads}, shared_memory_bytes(shape.D)};
  const auto run = [&]<int Columns>() {
    fa::launch<attention_forward_kernel<Columns>>(launch, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                                  shape.Nq, shape.Nk, int(shape.D), fa::scale_of(shape, options),
                                                  options.causal);
  };
  switch (padded_columns(shape.D)) {
    case 32:
      return run.operator()<32>();
    case 64:
      return run.operator()<64>();
    default:
      return run.operator()<128>();
  }
}

}  // namespace lesson
