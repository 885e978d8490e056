// out_d = Σ_j p_j v_jd for one query of each head: a block for each head, a thread for each of the 64 columns. Two
// stages of shared memory: while the tile in one of them is used, the next one is copied into the other.

#include "fa/tensor_core.h"
#include "kernels.h"

namespace lesson {
namespace {

constexpr int D = 64;                          // columns, and threads of a block
constexpr int Bc = 16;                         // keys of a tile
constexpr int kAtOnce = 4;                     // floats of a copy: 16 bytes
constexpr int kCopiesOfRow = D / kAtOnce;      // threads that copy a row
constexpr int kRowsAtOnce = D / kCopiesOfRow;  // rows that the block copies at a time

__global__ void weighted_values_kernel(fa::hbm<const float> p,  // (heads, Nk)
                                       fa::hbm<const float> v,  // (heads, Nk, D)
                                       fa::hbm<float> out,      // (heads, D)
                                       fa::Index Nk) {
  __shared__ fa::shared<float, 2, Bc, D> v_tile;
  const int d = int(threadIdx.x);
  const fa::Index head = blockIdx.x;
  p = p + head * Nk, v = v + head * Nk * D;

  const auto copy_tile = [&](fa::Index j0, int stage) {
    const int first = kAtOnce * (d % kCopiesOfRow);
    for (int row = d / kCopiesOfRow; row < Bc && j0 + row < Nk; row += kRowsAtOnce) {
      __pipeline_memcpy_async(&v_tile[stage][row][first], v + (j0 + row) * D + first, sizeof(float) * kAtOnce);
    }
  };

  float sum = 0.0f;
  copy_tile(0, 0);
  __pipeline_commit();
  for (fa::Index j0 = 0; j0 < Nk; j0 += Bc) {
    const int stage = int(j0 / Bc % 2);
    if (j0 + Bc < Nk) {
      copy_tile(j0 + Bc, 1 - stage);
      __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int row = 0; row < Bc && j0 + row < Nk; ++row) sum += p[j0 + row] * v_tile[stage][row][d];
    __syncthreads();
  }
  out[head * D + d] = sum;
}

}  // namespace

void weighted_values(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out,
                     fa::Index heads, fa::Index Nk) {
  fa::require_elements("p", p.size(), heads * Nk);
  fa::require_elements("v", v.size(), heads * Nk * D);
  fa::require_elements("out", out.size(), heads * D);
  if (heads == 0) return;  // a grid without blocks cannot be launched
  fa::launch<weighted_values_kernel>({{heads}, {D}}, p.data(), v.data(), out.data(), Nk);
}

}  // namespace lesson
