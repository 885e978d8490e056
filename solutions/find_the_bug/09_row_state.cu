// The state (m, l) of the online softmax for each row: a warp for 32 rows, a lane for each of them. The scores pass
// through shared memory, 32 columns at a time.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int T = 32;  // rows and columns of a tile, and lanes of a warp

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

__global__ void row_state_kernel(fa::hbm<const float> s,  // (rows, columns)
                                 fa::hbm<float> m,        // (rows)
                                 fa::hbm<float> l,        // (rows)
                                 fa::Index rows, fa::Index columns) {
  __shared__ fa::shared<float, T, T + 1> s_tile;
  const int lane = int(threadIdx.x);
  const fa::Index i0 = fa::Index{blockIdx.x} * T;  // the first row of this block

  float largest = -INFINITY, sum = 0.0f;
  for (fa::Index j0 = 0; j0 < columns; j0 += T) {
    for (int row = 0; row < T; ++row) {
      const bool inside = i0 + row < rows && j0 + lane < columns;
      s_tile[row][lane] = inside ? float(s[(i0 + row) * columns + j0 + lane]) : -INFINITY;
    }
    __syncthreads();
    for (int e = 0; e < T; ++e) {
      const float score = s_tile[lane][e], new_largest = fmaxf(largest, score);
      sum = weight(largest, new_largest) * sum + weight(score, new_largest);
      largest = new_largest;
    }
    __syncthreads();
  }
  if (i0 + lane < rows) {
    m[i0 + lane] = largest;
    l[i0 + lane] = sum;
  }
}

}  // namespace

void row_state(const fa::DeviceBuffer<float>& s, fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l, fa::Index rows,
               fa::Index columns) {
  fa::require_elements("s", s.size(), rows * columns);
  fa::require_elements("m", m.size(), rows);
  fa::require_elements("l", l.size(), rows);
  if (rows == 0) return;  // a grid without blocks cannot be launched
  fa::launch<row_state_kernel>({{tiles_of(rows, T)}, {T}}, s.data(), m.data(), l.data(), rows, columns);
}

}  // namespace lesson
