// s_ij = scale Σ_d q_id k_jd: a block for each tile of S. Its rows of q and k are in shared memory, all D columns of
// them.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile of S

__global__ void scores_whole_rows_kernel(fa::hbm<const float> q,  // (Nq, D)
                                         fa::hbm<const float> k,  // (Nk, D)
                                         fa::hbm<float> s,        // (Nq, Nk)
                                         fa::Index Nq, fa::Index Nk, int D, float scale) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", T, D);      // all lanes of a warp read one element of it
  const auto k_tile = memory.matrix<float>("k_tile", T, D + 1);  // the lanes read a column: padding spreads it
  const int row = int(threadIdx.y), col = int(threadIdx.x);
  const fa::Index i0 = fa::Index{blockIdx.y} * T, j0 = fa::Index{blockIdx.x} * T;  // the first of this block's tile

  for (int d = col; d < D; d += T) {
    q_tile[row][d] = i0 + row < Nq ? float(q[(i0 + row) * D + d]) : 0.0f;
    k_tile[row][d] = j0 + row < Nk ? float(k[(j0 + row) * D + d]) : 0.0f;
  }
  __syncthreads();

  float dot = 0.0f;
  for (int d = 0; d < D; ++d) dot += q_tile[row][d] * k_tile[col][d];
  if (i0 + row < Nq && j0 + col < Nk) s[(i0 + row) * Nk + j0 + col] = scale * dot;
}

}  // namespace

void scores_whole_rows(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
                       fa::Index Nq, fa::Index Nk, fa::Index D, float scale) {
  fa::require_elements("q", q.size(), Nq * D);
  fa::require_elements("k", k.size(), Nk * D);
  fa::require_elements("s", s.size(), Nq * Nk);
  if (Nq == 0 || Nk == 0) return;  // a grid without blocks cannot be launched
  const fa::Index q_bytes = fa::shared_bytes<float>(T * D);
  const fa::Index k_bytes = fa::shared_bytes<float>(T * D);
  fa::launch<scores_whole_rows_kernel>({{tiles_of(Nk, T), tiles_of(Nq, T)}, {T, T}, q_bytes + k_bytes}, q.data(),
                                       k.data(), s.data(), Nq, Nk, int(D), scale);
}

}  // namespace lesson
