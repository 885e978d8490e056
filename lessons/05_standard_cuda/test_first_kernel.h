// The first kernel of the text, and what the emulator says when its barrier is missing. On the emulator alone.

#pragma once

#ifndef FA_CUDA

#include <vector>

#include "fa/device.h"
#include "fa/testing.h"
#include "tests/simt_support.h"

namespace support {

// [first-kernel]
// out[i] = in[i] − the first number of the block's 32.
__global__ void relative_kernel(fa::hbm<const float> in,  // (n)
                                fa::hbm<float> out,       // (n)
                                fa::Index n) {
  __shared__ fa::shared<float, 1> first;  // one for each block, seen by its 32 threads
  const fa::Index i = fa::Index{blockIdx.x} * 32 + threadIdx.x;
  if (threadIdx.x == 0) first[0] = in[i];
  __syncthreads();                       // nobody goes on before all threads of the block are here
  if (i < n) out[i] = in[i] - first[0];  // the last block may have threads without a number
}
// [/first-kernel]

__global__ void relative_kernel_without_barrier(fa::hbm<const float> in,  // (n)
                                                fa::hbm<float> out,       // (n)
                                                fa::Index n) {
  __shared__ fa::shared<float, 1> first;
  const fa::Index i = fa::Index{blockIdx.x} * 32 + threadIdx.x;
  if (threadIdx.x == 0) first[0] = in[i];
  if (i < n) out[i] = in[i] - first[0];
}

// [missing-barrier]
inline const char* const kMissingBarrier =
    R"(shared memory: first[0] is touched by two threads with no barrier between
  in relative_kernel_without_barrier, block (0, 0, 0), thread (1, 0, 0)
  thread (0, 0, 0) wrote it,
  thread (1, 0, 0) reads it,
  both after the start of the kernel)";
// [/missing-barrier]

inline void check_missing_barrier() {
  // The order decides which side of a race is named.
  const fa::simt::With until_the_end_of_the_test({.checks = true, .order = fa::simt::Order::forward});
  std::vector<float> numbers, expected;
  for (int i = 0; i < 40; ++i) numbers.push_back(float(100 + i)), expected.push_back(float(i % 32));
  // [first-launch]
  const fa::DeviceBuffer<float> in("in", numbers);                             // HBM, with a copy of 40 numbers
  fa::DeviceBuffer<float> out("out", 40);                                      // HBM that nobody has written yet
  fa::launch<relative_kernel>({{2}, {32}}, in.data(), out.data(), in.size());  // 2 blocks of 32 threads
  // [/first-launch]
  CHECK(out.to_host() == expected);
  CHECK_THROWS_MATCHES(fa::launch<relative_kernel_without_barrier>({{2}, {32}}, in.data(), out.data(), in.size()),
                       fa::KernelFault, Catch::Matchers::MessageMatches(Catch::Matchers::Equals(kMissingBarrier)));
}

}  // namespace support

#endif
