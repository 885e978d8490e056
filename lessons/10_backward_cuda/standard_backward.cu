#include <stdexcept>
#include <string>

#include "standard_backward.h"

namespace lesson {
namespace {

constexpr int T = 32;     // rows and columns of a tile, and of a block of threads
constexpr int kRows = 8;  // rows, and warps, of a block of score_gradient_kernel
constexpr unsigned kAllLanes = 0xffff'ffff;

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// How many keys query i sees. They are always the first ones.
__device__ fa::Index visible_keys(fa::Index i, fa::Index Nq, fa::Index Nk, bool causal) {
  return causal ? max(fa::Index{0}, min(Nk, i + Nk - Nq + 1)) : Nk;
}

// result_j = factor · Σ_i weights_ij rows_i, over the queries i that see key j. For dV and dK.
__global__ void sum_over_queries_kernel(fa::hbm<const float> weights,  // (B, H, Nq, Nk)
                                        fa::hbm<const float> rows,     // (B, H, Nq, D)
                                        fa::hbm<float> result,         // (B, H, Nk, D)
                                        fa::Index Nq, fa::Index Nk, fa::Index D, float factor, bool causal) {
  __shared__ fa::shared<float, T, T> weight_tile, row_tile;
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index j0 = fa::Index{blockIdx.y} * T, d0 = fa::Index{blockIdx.x} * T;
  const fa::Index j = j0 + row, d = d0 + col, head = blockIdx.z;
  weights = weights + head * Nq * Nk, rows = rows + head * Nq * D, result = result + head * Nk * D;

  float sum = 0.0f;
  for (fa::Index i0 = 0; i0 < Nq; i0 += T) {
    const fa::Index i = i0 + row;  // that this thread loads
    weight_tile[row][col] = i < Nq && j0 + col < Nk ? weights[i * Nk + j0 + col] : 0.0f;
    row_tile[row][col] = i < Nq && d < D ? rows[i * D + d] : 0.0f;
    __syncthreads();
    const int first = causal ? int(max(fa::Index{0}, min(fa::Index{T}, j - (Nk - Nq) - i0))) : 0;
    const int end = int(min(fa::Index{T}, Nq - i0));
    for (int e = first; e < end; ++e) sum += weight_tile[e][row] * row_tile[e][col];
    __syncthreads();
  }
  if (j < Nk && d < D) result[j * D + d] = factor * sum;
}

// dP = dO Vᵀ; 0 where the mask hides the pair.
__global__ void weight_gradient_kernel(fa::hbm<const float> dout,  // (B, H, Nq, D)
                                       fa::hbm<const float> v,     // (B, H, Nk, D)
                                       fa::hbm<float> dp,          // (B, H, Nq, Nk)
                                       fa::Index Nq, fa::Index Nk, fa::Index D, bool causal) {
  __shared__ fa::shared<float, T, T> dout_tile;
  __shared__ fa::shared<float, T, T + 1> v_tile;  // the lanes read a column: padding spreads it over the banks
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i0 = fa::Index{blockIdx.y} * T, j0 = fa::Index{blockIdx.x} * T, head = blockIdx.z;
  dout = dout + head * Nq * D, v = v + head * Nk * D, dp = dp + head * Nq * Nk;

  float dot = 0.0f;
  for (fa::Index d0 = 0; d0 < D; d0 += T) {
    const fa::Index d = d0 + col;
    dout_tile[row][col] = i0 + row < Nq && d < D ? dout[(i0 + row) * D + d] : 0.0f;
    v_tile[row][col] = j0 + row < Nk && d < D ? v[(j0 + row) * D + d] : 0.0f;
    __syncthreads();
    for (int e = 0; e < T; ++e) dot += dout_tile[row][e] * v_tile[col][e];
    __syncthreads();
  }
  const fa::Index i = i0 + row, j = j0 + col;
  if (i < Nq && j < Nk) dp[i * Nk + j] = j < visible_keys(i, Nq, Nk, causal) ? dot : 0.0f;
}

// dS = P ∘ (dP − delta), with delta = rowsum(P ∘ dP). A warp for each row, which reads P and dP twice.
__global__ void score_gradient_kernel(fa::hbm<const float> p,   // (rows, Nk)
                                      fa::hbm<const float> dp,  // (rows, Nk)
                                      fa::hbm<float> ds,        // (rows, Nk)
                                      fa::Index rows, fa::Index Nk) {
  const fa::Index row = fa::Index{blockIdx.x} * kRows + threadIdx.y;
  if (row >= rows) return;  // the whole warp leaves, and no barrier of the block is ahead
  p = p + row * Nk, dp = dp + row * Nk, ds = ds + row * Nk;

  float delta = 0.0f;
  for (fa::Index j = threadIdx.x; j < Nk; j += T) delta += p[j] * dp[j];
  for (int distance = T / 2; distance > 0; distance /= 2) delta += __shfl_xor_sync(kAllLanes, delta, distance);
  for (fa::Index j = threadIdx.x; j < Nk; j += T) ds[j] = p[j] * (dp[j] - delta);
}

// dQ = scale · dS K, over the keys that the query sees.
__global__ void query_gradient_kernel(fa::hbm<const float> ds,  // (B, H, Nq, Nk)
                                      fa::hbm<const float> k,   // (B, H, Nk, D)
                                      fa::hbm<float> dq,        // (B, H, Nq, D)
                                      fa::Index Nq, fa::Index Nk, fa::Index D, float scale, bool causal) {
  __shared__ fa::shared<float, T, T> ds_tile, k_tile;
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i = fa::Index{blockIdx.y} * T + row, d = fa::Index{blockIdx.x} * T + col, head = blockIdx.z;
  ds = ds + head * Nq * Nk, k = k + head * Nk * D, dq = dq + head * Nq * D;

  const fa::Index visible = visible_keys(i, Nq, Nk, causal);
  float sum = 0.0f;
  for (fa::Index j0 = 0; j0 < Nk; j0 += T) {
    ds_tile[row][col] = i < Nq && j0 + col < Nk ? ds[i * Nk + j0 + col] : 0.0f;
    k_tile[row][col] = j0 + row < Nk && d < D ? k[(j0 + row) * D + d] : 0.0f;
    __syncthreads();
    const int keys = int(max(fa::Index{0}, min(fa::Index{T}, visible - j0)));
    for (int e = 0; e < keys; ++e) sum += ds_tile[row][e] * k_tile[e][col];
    __syncthreads();
  }
  if (i < Nq && d < D) dq[i * D + d] = scale * sum;
}

// Blocks of T x T threads over a matrix of rows x columns for each head.
fa::LaunchShape tiles_over(fa::Index rows, fa::Index columns, const fa::Shape& shape,
                           fa::Place where = fa::Place::here()) {
  return {{ceil_div(columns, T), ceil_div(rows, T), fa::heads(shape)}, {T, T}, 0, where};
}

void require_at_most(const char* name, fa::Index value, fa::Index limit) {
  if (value <= limit) return;
  throw std::invalid_argument(std::string(name) + " = " + std::to_string(value) + ": must be at most " +
                              std::to_string(limit) + ", for a grid");
}

// That every launch below has a grid which a GPU takes. The last launches would be refused when the first have run.
void require_grids(const fa::Shape& shape) {
  constexpr fa::Index largest_x = 2147483647, largest_yz = 65535;
  require_at_most("B · H", fa::heads(shape), largest_yz);
  require_at_most("Nq", shape.Nq, T * largest_yz);
  require_at_most("Nk", shape.Nk, T * largest_yz);
  require_at_most("B · H · Nq", fa::query_rows(shape), kRows * largest_x);  // of score_gradient_kernel
}

}  // namespace

void standard_backward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, const fa::DeviceBuffer<float>& p,
                       const fa::DeviceBuffer<float>& dout, fa::DeviceBuffer<float>& dq, fa::DeviceBuffer<float>& dk,
                       fa::DeviceBuffer<float>& dv, const fa::Shape& shape, const fa::Options& options,
                       fa::DeviceScratch& scratch) {
  fa::validate(shape, options);
  require_grids(shape);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("p", p.size(), fa::score_elements(shape));
  fa::require_elements("dout", dout.size(), fa::query_elements(shape));
  fa::require_elements("dq", dq.size(), fa::query_elements(shape));
  fa::require_elements("dk", dk.size(), fa::key_elements(shape));
  fa::require_elements("dv", dv.size(), fa::key_elements(shape));
  const auto& [B, H, Nq, Nk, D] = shape;
  const float scale = fa::scale_of(shape, options);
  const bool causal = options.causal;
  fa::DeviceBuffer<float> dp = scratch.allocate<float>("dP", fa::score_elements(shape));
  fa::DeviceBuffer<float> ds = scratch.allocate<float>("dS", fa::score_elements(shape));

  if (dv.size() > 0) {  // a grid without blocks cannot be launched
    fa::launch<sum_over_queries_kernel>(tiles_over(Nk, D, shape), p.data(), dout.data(), dv.data(), Nq, Nk, D, 1.0f,
                                        causal);
  }
  if (p.size() > 0) {
    fa::launch<weight_gradient_kernel>(tiles_over(Nq, Nk, shape), dout.data(), v.data(), dp.data(), Nq, Nk, D, causal);
    const fa::Index rows = fa::query_rows(shape);
    fa::launch<score_gradient_kernel>({{ceil_div(rows, kRows)}, {T, kRows}}, p.data(), dp.data(), ds.data(), rows, Nk);
  }
  if (dq.size() > 0) {
    fa::launch<query_gradient_kernel>(tiles_over(Nq, D, shape), ds.data(), k.data(), dq.data(), Nq, Nk, D, scale,
                                      causal);
  }
  if (dk.size() > 0) {
    fa::launch<sum_over_queries_kernel>(tiles_over(Nk, D, shape), ds.data(), q.data(), dk.data(), Nq, Nk, D, scale,
                                        causal);
  }
}

fa::Traffic standard_backward_traffic(const fa::Shape& shape) {
  fa::validate(shape, {});

  // Elements for one head, kernel by kernel. A tile of one operand is read again for each tile of the other.
  const auto& [B, H, Nq, Nk, D] = shape;
  const fa::Index sum_read = Nq * Nk * ceil_div(D, T) + Nq * D * ceil_div(Nk, T);
  const fa::Index dp_read = Nq * D * ceil_div(Nk, T) + Nk * D * ceil_div(Nq, T);
  const fa::Index ds_read = 4 * Nq * Nk;
  const fa::Index dq_read = Nq * Nk * ceil_div(D, T) + Nk * D * ceil_div(Nq, T);
  const fa::Index written = Nk * D + Nq * Nk + Nq * Nk + Nq * D + Nk * D;  // dV, dP, dS, dQ, dK
  const fa::Index bytes = B * H * fa::Index{sizeof(float)};
  return {bytes * (sum_read + dp_read + ds_read + dq_read + sum_read), bytes * written};
}

}  // namespace lesson
