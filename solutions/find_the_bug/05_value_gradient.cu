// dv_jd += Σ_i p_ij dout_id: a block for each tile of dv and each tile of 32 queries.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile

__global__ void value_gradient_kernel(fa::hbm<const float> p,     // (Nq, Nk)
                                      fa::hbm<const float> dout,  // (Nq, D)
                                      fa::hbm<float> dv,          // (Nk, D)
                                      fa::Index Nq, fa::Index Nk, fa::Index D) {
  __shared__ fa::shared<float, T, T> p_tile, dout_tile;
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i = fa::Index{blockIdx.z} * T + row;  // the query that this thread loads
  const fa::Index j0 = fa::Index{blockIdx.y} * T;       // the first key of this block
  const fa::Index d = fa::Index{blockIdx.x} * T + col;

  p_tile[row][col] = i < Nq && j0 + col < Nk ? float(p[i * Nk + j0 + col]) : 0.0f;
  dout_tile[row][col] = i < Nq && d < D ? float(dout[i * D + d]) : 0.0f;
  __syncthreads();

  float sum = 0.0f;
  for (int e = 0; e < T; ++e) sum += p_tile[e][row] * dout_tile[e][col];
  if (j0 + row < Nk && d < D) atomicAdd(&dv[(j0 + row) * D + d], sum);
}

}  // namespace

void value_gradient(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& dout, fa::DeviceBuffer<float>& dv,
                    fa::Index Nq, fa::Index Nk, fa::Index D) {
  fa::require_elements("p", p.size(), Nq * Nk);
  fa::require_elements("dout", dout.size(), Nq * D);
  fa::require_elements("dv", dv.size(), Nk * D);
  if (Nq == 0 || Nk == 0 || D == 0) return;  // a grid without blocks cannot be launched
  fa::launch<value_gradient_kernel>({{tiles_of(D, T), tiles_of(Nk, T), tiles_of(Nq, T)}, {T, T}}, p.data(), dout.data(),
                                    dv.data(), Nq, Nk, D);
}

}  // namespace lesson
