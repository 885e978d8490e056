// m_i = max_j s_ij: a warp for each row. Each lane looks at every 32nd score; then the lanes compare what they have.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int kWarp = 32;        // lanes of a warp
constexpr int kRowsOfBlock = 4;  // rows, and warps, of a block
constexpr unsigned kAllLanes = 0xffff'ffff;

__global__ void row_maximum_kernel(fa::hbm<const float> s,  // (rows, columns)
                                   fa::hbm<float> m,        // (rows)
                                   fa::Index rows, fa::Index columns) {
  // A warp is one row of threads: threadIdx.x is the lane.
  const fa::Index row = fa::Index{blockIdx.x} * kRowsOfBlock + threadIdx.y;
  const fa::Index lane = threadIdx.x;
  if (row >= rows || lane >= columns) return;

  float largest = -INFINITY;
  for (fa::Index j = lane; j < columns; j += kWarp) largest = fmaxf(largest, s[row * columns + j]);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, distance));
  }
  if (lane == 0) m[row] = largest;
}

}  // namespace

void row_maximum(const fa::DeviceBuffer<float>& s, fa::DeviceBuffer<float>& m, fa::Index rows, fa::Index columns) {
  fa::require_elements("s", s.size(), rows * columns);
  fa::require_elements("m", m.size(), rows);
  if (rows == 0) return;  // a grid without blocks cannot be launched
  fa::launch<row_maximum_kernel>({{tiles_of(rows, kRowsOfBlock)}, {kWarp, kRowsOfBlock}}, s.data(), m.data(), rows,
                                 columns);
}

}  // namespace lesson
