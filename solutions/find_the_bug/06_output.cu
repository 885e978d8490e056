// out_id = Σ_j p_ij v_jd: a block for each tile of out. P and v pass through shared memory, 32 keys at a time.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile

__global__ void output_kernel(fa::hbm<const float> p,  // (Nq, Nk)
                              fa::hbm<const float> v,  // (Nk, D)
                              fa::hbm<float> out,      // (Nq, D)
                              fa::Index Nq, fa::Index Nk, fa::Index D) {
  __shared__ fa::shared<float, T, T> p_tile, v_tile;
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i = fa::Index{blockIdx.y} * T + row, d = fa::Index{blockIdx.x} * T + col;

  float sum = 0.0f;
  for (fa::Index j0 = 0; j0 < Nk; j0 += T) {
    p_tile[row][col] = i < Nq && j0 + col < Nk ? float(p[i * Nk + j0 + col]) : 0.0f;
    v_tile[row][col] = j0 + row < Nk && d < D ? float(v[(j0 + row) * D + d]) : 0.0f;
    __syncthreads();
    for (int e = 0; e < T; ++e) sum += p_tile[row][e] * v_tile[e][col];
    __syncthreads();
  }
  if (i < Nq && d < D) out[i * D + d] = sum;
}

}  // namespace

void output(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out,
            fa::Index Nq, fa::Index Nk, fa::Index D) {
  fa::require_elements("p", p.size(), Nq * Nk);
  fa::require_elements("v", v.size(), Nk * D);
  fa::require_elements("out", out.size(), Nq * D);
  if (Nq == 0 || D == 0) return;  // a grid without blocks cannot be launched
  fa::launch<output_kernel>({{tiles_of(D, T), tiles_of(Nq, T)}, {T, T}}, p.data(), v.data(), out.data(), Nq, Nk, D);
}

}  // namespace lesson
