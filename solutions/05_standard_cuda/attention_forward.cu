// Standard attention in CUDA, forward pass: three kernels, with S and P in HBM. Dao et al. 2022 (arXiv:2205.14135),
// Algorithm 0.
//
// Extends lesson 01: each loop over queries and keys becomes a grid of threads, and HBM is no longer the only memory.

#include "attention_forward.h"

namespace lesson {
namespace {

constexpr int T = int(tile);
constexpr int kWarp = 32;          // lanes of a warp
constexpr int kRowsOfSoftmax = 8;  // rows, and warps, of a block of the softmax
constexpr unsigned kAllLanes = 0xffff'ffff;

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

// How many keys query i sees. They are always the first ones.
__device__ fa::Index visible_keys(fa::Index i, fa::Index Nq, fa::Index Nk, bool causal) {
  return causal ? max(fa::Index{0}, min(Nk, i + Nk - Nq + 1)) : Nk;
}

__global__ void scores_untiled_kernel(fa::hbm<const float> q,  // (B, H, Nq, D)
                                      fa::hbm<const float> k,  // (B, H, Nk, D)
                                      fa::hbm<float> s,        // (B, H, Nq, Nk)
                                      fa::Index Nq, fa::Index Nk, fa::Index D, float scale, bool causal) {
  // Step 1: one thread for each score (Algorithm 0, line 1). Which one is mine?
  const fa::Index i = fa::Index{blockIdx.y} * T + threadIdx.y, j = fa::Index{blockIdx.x} * T + threadIdx.x;
  const fa::Index head = blockIdx.z;
  if (i >= Nq || j >= Nk) return;  // the grid is made of whole blocks

  float dot = 0.0f;
  for (fa::Index d = 0; d < D; ++d) dot += q[(head * Nq + i) * D + d] * k[(head * Nk + j) * D + d];
  s[(head * Nq + i) * Nk + j] = j < visible_keys(i, Nq, Nk, causal) ? scale * dot : -INFINITY;
}

__global__ void scores_kernel(fa::hbm<const float> q,  // (B, H, Nq, D)
                              fa::hbm<const float> k,  // (B, H, Nk, D)
                              fa::hbm<float> s,        // (B, H, Nq, Nk)
                              fa::Index Nq, fa::Index Nk, fa::Index D, float scale, bool causal) {
  __shared__ fa::shared<float, T, T> q_tile;      // all lanes of a warp read one element of it
  __shared__ fa::shared<float, T, T + 1> k_tile;  // the lanes read a column: padding spreads it over the banks
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i0 = fa::Index{blockIdx.y} * T, j0 = fa::Index{blockIdx.x} * T;  // the first of this block's tile
  const fa::Index head = blockIdx.z;
  q = q + head * Nq * D, k = k + head * Nk * D, s = s + head * Nq * Nk;

  float dot = 0.0f;
  for (fa::Index d0 = 0; d0 < D; d0 += T) {
    // Step 2a: line 1 by blocks. Each thread loads one element of either tile; neighbors in a warp load neighbors in
    // HBM. What lies outside of the matrices is zero, so that it adds nothing.
    const fa::Index d = d0 + col;
    q_tile[row][col] = i0 + row < Nq && d < D ? q[(i0 + row) * D + d] : 0.0f;
    k_tile[row][col] = j0 + row < Nk && d < D ? k[(j0 + row) * D + d] : 0.0f;
    __syncthreads();  // the tiles are complete

    // Step 2b: from here on, no byte comes from HBM.
    for (int e = 0; e < T; ++e) dot += q_tile[row][e] * k_tile[col][e];
    __syncthreads();  // before the next tiles overwrite what others still read
  }

  // Step 2c: every thread stayed until here, since all are needed at the barriers. Only now some have nothing to write.
  const fa::Index i = i0 + row, j = j0 + col;
  if (i < Nq && j < Nk) s[i * Nk + j] = j < visible_keys(i, Nq, Nk, causal) ? scale * dot : -INFINITY;
}

__global__ void softmax_kernel(fa::hbm<const float> s,  // (rows, Nk)
                               fa::hbm<float> p,        // (rows, Nk)
                               fa::Index rows, fa::Index Nk) {
  // A warp is one row of threads: threadIdx.x is the lane.
  const fa::Index row = fa::Index{blockIdx.x} * kRowsOfSoftmax + threadIdx.y;
  if (row >= rows) return;  // the whole warp leaves, and no barrier of the block is ahead
  s = s + row * Nk, p = p + row * Nk;

  // Step 3a: the state (m, l) of every 32nd score, as in lesson 02 (Algorithm 0, line 2). fmaxf(m, NaN) is m; the NaN
  // arrives in l.
  float m = -INFINITY, l = 0.0f;
  for (fa::Index j = threadIdx.x; j < Nk; j += kWarp) {
    const float score = s[j], m_new = fmaxf(m, score);
    l = weight(m, m_new) * l + weight(score, m_new);
    m = m_new;
  }

  // Step 3b: merge the 32 states. After each round a lane knows twice as many; after five, each knows the whole row.
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const float m_other = __shfl_xor_sync(kAllLanes, m, distance);
    const float l_other = __shfl_xor_sync(kAllLanes, l, distance);
    const float m_new = fmaxf(m, m_other);
    l = weight(m, m_new) * l + weight(m_other, m_new) * l_other;
    m = m_new;
  }

  // Step 3c: the second pass.
  const float per_l = l == 0.0f ? 0.0f : 1.0f / l;  // a row that sees nothing is zeros
  for (fa::Index j = threadIdx.x; j < Nk; j += kWarp) p[j] = weight(s[j], m) * per_l;
}

__global__ void product_kernel(fa::hbm<const float> p,  // (B, H, Nq, Nk)
                               fa::hbm<const float> v,  // (B, H, Nk, D)
                               fa::hbm<float> out,      // (B, H, Nq, D)
                               fa::Index Nq, fa::Index Nk, fa::Index D, bool causal) {
  __shared__ fa::shared<float, T, T> p_tile, v_tile;
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i = fa::Index{blockIdx.y} * T + row;
  const fa::Index d = fa::Index{blockIdx.x} * T + col;
  const fa::Index head = blockIdx.z;
  p = p + head * Nq * Nk, v = v + head * Nk * D, out = out + head * Nq * D;

  // Step 4: as step 2, along the keys (Algorithm 0, line 3). Hidden keys are left out rather than weighted with 0,
  // since 0 · NaN is NaN.
  const fa::Index visible = visible_keys(i, Nq, Nk, causal);
  float sum = 0.0f;
  for (fa::Index j0 = 0; j0 < Nk; j0 += T) {
    p_tile[row][col] = i < Nq && j0 + col < Nk ? p[i * Nk + j0 + col] : 0.0f;
    v_tile[row][col] = j0 + row < Nk && d < D ? v[(j0 + row) * D + d] : 0.0f;
    __syncthreads();
    const int keys = int(max(fa::Index{0}, min(fa::Index{T}, visible - j0)));
    for (int e = 0; e < keys; ++e) sum += p_tile[row][e] * v_tile[e][col];
    __syncthreads();
  }
  if (i < Nq && d < D) out[i * D + d] = sum;
}

// Blocks of T x T threads over a matrix of rows x columns for each head.
fa::LaunchShape tiles_over(fa::Index rows, fa::Index columns, const fa::Shape& shape,
                           fa::Place where = fa::Place::here()) {
  return {{ceil_div(columns, T), ceil_div(rows, T), fa::heads(shape)}, {T, T}, 0, where};
}

void validate_scores(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                     const fa::DeviceBuffer<float>& s, const fa::Shape& shape, const fa::Options& options) {
  fa::validate(shape, options);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("s", s.size(), fa::score_elements(shape));
}

}  // namespace

void scores_untiled(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
                    const fa::Shape& shape, const fa::Options& options) {
  validate_scores(q, k, s, shape, options);
  if (s.size() == 0) return;  // a grid without blocks cannot be launched
  fa::launch<scores_untiled_kernel>(tiles_over(shape.Nq, shape.Nk, shape), q.data(), k.data(), s.data(), shape.Nq,
                                    shape.Nk, shape.D, fa::scale_of(shape, options), options.causal);
}

void scores(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
            const fa::Shape& shape, const fa::Options& options) {
  validate_scores(q, k, s, shape, options);
  if (s.size() == 0) return;
  fa::launch<scores_kernel>(tiles_over(shape.Nq, shape.Nk, shape), q.data(), k.data(), s.data(), shape.Nq, shape.Nk,
                            shape.D, fa::scale_of(shape, options), options.causal);
}

void softmax(const fa::DeviceBuffer<float>& s, fa::DeviceBuffer<float>& p, const fa::Shape& shape) {
  fa::validate(shape, {});
  fa::require_elements("s", s.size(), fa::score_elements(shape));
  fa::require_elements("p", p.size(), fa::score_elements(shape));
  if (p.size() == 0) return;
  const fa::Index rows = fa::query_rows(shape);
  fa::launch<softmax_kernel>({{ceil_div(rows, kRowsOfSoftmax)}, {kWarp, kRowsOfSoftmax}}, s.data(), p.data(), rows,
                             shape.Nk);
}

void product(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out,
             const fa::Shape& shape, const fa::Options& options) {
  fa::validate(shape, options);
  fa::require_elements("p", p.size(), fa::score_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  if (out.size() == 0) return;
  fa::launch<product_kernel>(tiles_over(shape.Nq, shape.D, shape), p.data(), v.data(), out.data(), shape.Nq, shape.Nk,
                             shape.D, options.causal);
}

void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, const fa::Shape& shape,
                       const fa::Options& options, fa::DeviceScratch& scratch) {
  fa::validate(shape, options);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));

  // Step 5: three kernels, one after another. What one writes, the next one reads from HBM.
  fa::DeviceBuffer<float> s = scratch.allocate<float>("S", fa::score_elements(shape));
  fa::DeviceBuffer<float> p = scratch.allocate<float>("P", fa::score_elements(shape));
  scores(q, k, s, shape, options);
  softmax(s, p, shape);
  product(p, v, out, shape, options);
}

fa::Traffic forward_traffic(const fa::Shape& shape) {
  fa::validate(shape, {});

  // Step 6: elements for one head, kernel by kernel. A tile of one operand is read again for each tile of the other.
  const auto& [B, H, Nq, Nk, D] = shape;
  const fa::Index scores_read = Nq * D * ceil_div(Nk, T) + Nk * D * ceil_div(Nq, T);
  const fa::Index softmax_read = 2 * Nq * Nk;
  const fa::Index product_read = Nq * Nk * ceil_div(D, T) + Nk * D * ceil_div(Nq, T);
  const fa::Index written = Nq * Nk + Nq * Nk + Nq * D;
  const fa::Index bytes = B * H * fa::Index{sizeof(float)};
  return {bytes * (scores_read + softmax_read + product_read), bytes * written};
}

}  // namespace lesson
