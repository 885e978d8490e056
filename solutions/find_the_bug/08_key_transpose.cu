// k_t = Kᵀ: a block for each tile of 32 × 32 elements, which passes through shared memory.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile

__global__ void key_transpose_kernel(fa::hbm<const float> k,  // (Nk, D)
                                     fa::hbm<float> k_t,      // (D, Nk)
                                     fa::Index Nk, fa::Index D) {
  __shared__ fa::shared<float, T, T + 1> tile;  // padding spreads a column over the banks
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index j0 = fa::Index{blockIdx.y} * T, d0 = fa::Index{blockIdx.x} * T;  // the first of this block's tile

  if (j0 + row < Nk && d0 + col < D) tile[row][col] = k[(j0 + row) * D + d0 + col];
  __syncthreads();
  if (j0 + col < Nk && d0 + row < D) k_t[(d0 + row) * Nk + j0 + col] = tile[col][row];
}

}  // namespace

void key_transpose(const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& k_t, fa::Index Nk, fa::Index D) {
  fa::require_elements("k", k.size(), Nk * D);
  fa::require_elements("k_t", k_t.size(), D * Nk);
  if (Nk == 0 || D == 0) return;  // a grid without blocks cannot be launched
  fa::launch<key_transpose_kernel>({{tiles_of(D, T), tiles_of(Nk, T)}, {T, T}}, k.data(), k_t.data(), Nk, D);
}

}  // namespace lesson
