// s_ij = scale Σ_d q_id k_jd: a block for each tile of S. q and k pass through shared memory, 32 columns at a time.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile

__global__ void scores_in_slices_kernel(fa::hbm<const float> q,  // (Nq, D)
                                        fa::hbm<const float> k,  // (Nk, D)
                                        fa::hbm<float> s,        // (Nq, Nk)
                                        fa::Index Nq, fa::Index Nk, fa::Index D, float scale) {
  __shared__ fa::shared<float, T, T> q_tile;      // all lanes of a warp read one element of it
  __shared__ fa::shared<float, T, T + 1> k_tile;  // the lanes read a column: padding spreads it over the banks
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i0 = fa::Index{blockIdx.y} * T, j0 = fa::Index{blockIdx.x} * T;  // the first of this block's tile

  float dot = 0.0f;
  for (fa::Index d0 = 0; d0 < D; d0 += T) {
    const fa::Index d = d0 + col;
    q_tile[row][col] = i0 + row < Nq && d < D ? float(q[(i0 + row) * D + d]) : 0.0f;
    k_tile[row][col] = j0 + row < Nk && d < D ? float(k[(j0 + row) * D + d]) : 0.0f;
    __syncthreads();
    for (int e = 0; e < T; ++e) dot += q_tile[row][e] * k_tile[col][e];
  }
  if (i0 + row < Nq && j0 + col < Nk) s[(i0 + row) * Nk + j0 + col] = scale * dot;
}

}  // namespace

void scores_in_slices(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
                      fa::Index Nq, fa::Index Nk, fa::Index D, float scale) {
  fa::require_elements("q", q.size(), Nq * D);
  fa::require_elements("k", k.size(), Nk * D);
  fa::require_elements("s", s.size(), Nq * Nk);
  if (Nq == 0 || Nk == 0) return;  // a grid without blocks cannot be launched
  fa::launch<scores_in_slices_kernel>({{tiles_of(Nk, T), tiles_of(Nq, T)}, {T, T}}, q.data(), k.data(), s.data(), Nq,
                                      Nk, D, scale);
}

}  // namespace lesson
