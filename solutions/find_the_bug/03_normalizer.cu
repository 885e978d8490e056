// l_i = Σ_j e^(s_ij − m_i): a block for each row. Each thread adds up every 128th weight. Then 64 threads add what the
// others have, then 32 of them, and so on, until one has it all.

#include "kernels.h"

namespace lesson {
namespace {

constexpr int kThreads = 128;  // of a block: a power of two

__global__ void normalizer_kernel(fa::hbm<const float> s,  // (rows, columns)
                                  fa::hbm<const float> m,  // (rows)
                                  fa::hbm<float> l,        // (rows)
                                  fa::Index columns) {
  __shared__ fa::shared<float, kThreads> sums;
  const int i = int(threadIdx.x);
  const fa::Index row = blockIdx.x;

  const float largest = m[row];
  float sum = 0.0f;
  for (fa::Index j = i; j < columns; j += kThreads) sum += expf(s[row * columns + j] - largest);
  sums[i] = sum;
  __syncthreads();

  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (i < half) {
      sums[i] += sums[i + half];
    }
    __syncthreads();
  }
  if (i == 0) l[row] = sums[0];
}

}  // namespace

void normalizer(const fa::DeviceBuffer<float>& s, const fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l,
                fa::Index rows, fa::Index columns) {
  fa::require_elements("s", s.size(), rows * columns);
  fa::require_elements("m", m.size(), rows);
  fa::require_elements("l", l.size(), rows);
  if (rows == 0) return;  // a grid without blocks cannot be launched
  fa::launch<normalizer_kernel>({{rows}, {kThreads}}, s.data(), m.data(), l.data(), columns);
}

}  // namespace lesson
