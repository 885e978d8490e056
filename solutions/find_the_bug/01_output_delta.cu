// delta_i = Σ_d dout_id out_id: a warp for each row.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int kWarp = 32;        // lanes of a warp
constexpr int kRowsOfBlock = 4;  // rows, and warps, of a block
constexpr unsigned kAllLanes = 0xffff'ffff;

__global__ void output_delta_kernel(fa::hbm<const float> dout,  // (rows, D)
                                    fa::hbm<const float> out,   // (rows, D)
                                    fa::hbm<float> delta,       // (rows)
                                    fa::Index rows, fa::Index D) {
  // A warp is one row of threads: threadIdx.x is the lane.
  const fa::Index row = fa::Index{blockIdx.x} * kRowsOfBlock + threadIdx.y;
  if (row >= rows) return;

  float sum = 0.0f;
  for (fa::Index d = threadIdx.x; d < D; d += kWarp) sum += dout[row * D + d] * out[row * D + d];
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
  if (threadIdx.x == 0) delta[row] = sum;
}

}  // namespace

void output_delta(const fa::DeviceBuffer<float>& dout, const fa::DeviceBuffer<float>& out,
                  fa::DeviceBuffer<float>& delta, fa::Index rows, fa::Index D) {
  fa::require_elements("dout", dout.size(), rows * D);
  fa::require_elements("out", out.size(), rows * D);
  fa::require_elements("delta", delta.size(), rows);
  if (rows == 0) return;  // a grid without blocks cannot be launched
  fa::launch<output_delta_kernel>({{tiles_of(rows, kRowsOfBlock)}, {kWarp, kRowsOfBlock}}, dout.data(), out.data(),
                                  delta.data(), rows, D);
}

}  // namespace lesson
