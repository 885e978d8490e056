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
  // TODO begin
  fa::todo("Step 1: one thread for each score");
  // TODO end
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
    // TODO begin
    fa::todo("Step 2: load two tiles, and sum over them");
    // TODO end
  }

  // TODO begin
  fa::todo("Step 2c: write the score");
  // TODO end
}

__global__ void softmax_kernel(fa::hbm<const float> s,  // (rows, Nk)
                               fa::hbm<float> p,        // (rows, Nk)
                               fa::Index rows, fa::Index Nk) {
  // A warp is one row of threads: threadIdx.x is the lane.
  const fa::Index row = fa::Index{blockIdx.x} * kRowsOfSoftmax + threadIdx.y;
  if (row >= rows) return;  // the whole warp leaves, and no barrier of the block is ahead
  s = s + row * Nk, p = p + row * Nk;

  // TODO begin
  fa::todo("Step 3a: the state of every 32nd score");
  // TODO end

  // TODO begin
  fa::todo("Step 3b: merge the states of the lanes");
  // TODO end

  // TODO begin
  fa::todo("Step 3c: the weights");
  // TODO end
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

  // TODO begin
  fa::todo("Step 4: the product along the keys");
  // TODO end
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

  // TODO begin
  fa::todo("Step 5: three kernels");
  // TODO end
}

fa::Traffic forward_traffic(const fa::Shape& shape) {
  fa::validate(shape, {});

  // TODO begin
  fa::todo("Step 6: the bytes of the three kernels");
  // TODO end
}

}  // namespace lesson
