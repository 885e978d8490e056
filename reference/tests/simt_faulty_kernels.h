// One kernel for each fault that the emulator reports, and what it says. simt/messages.md shows them, cut from here;
// test_simt_messages.cpp runs them.

#pragma once

#include "fa/device.h"

namespace {

// [out-of-bounds]
__global__ void shift_kernel(fa::hbm<const float> in, fa::hbm<float> out) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] = in[i + 1];
}
const char* const shift_fault = R"(
HBM: read of in[64], which has 64 elements
  in shift_kernel, block (1, 0, 0), thread (31, 0, 0))";
// [/out-of-bounds]

// [use-after-free]
const char* const freed_fault = R"(
HBM: read of in[1], whose memory was freed
  in shift_kernel, block (0, 0, 0), thread (0, 0, 0))";
// [/use-after-free]

// [shared-index]
__global__ void column_kernel(fa::hbm<float> out) {
  __shared__ fa::shared<float, 4, 8> tile;
  tile[int(threadIdx.x)][0] = 1.0f;
  out[int(threadIdx.x)] = tile[int(threadIdx.x)][0];
}
const char* const column_fault = R"(
shared memory: index 4 in dimension 0 of 'tile', which has 4
  in column_kernel, block (0, 0, 0), thread (4, 0, 0))";
// [/shared-index]

// [unwritten]
__global__ void accumulate_kernel(fa::hbm<float> sum) { atomicAdd(&sum[0], 1.0f); }
const char* const accumulate_fault = R"(
HBM: read of sum[0], which nothing wrote
  in accumulate_kernel, block (0, 0, 0), thread (0, 0, 0))";

__global__ void padding_kernel(fa::hbm<float> out) {
  __shared__ fa::shared<float, 33> line;
  line[int(threadIdx.x)] = 1.0f;
  __syncthreads();
  out[int(threadIdx.x)] = line[int(threadIdx.x) + 1];
}
const char* const padding_fault = R"(
shared memory: read of line[32], which nothing wrote
  in padding_kernel, block (0, 0, 0), thread (31, 0, 0)
  and no other thread writes it, up to the next barrier or the end)";
// [/unwritten]

// [missing-barrier]
__global__ void rotate_kernel(fa::hbm<float> row) {
  __shared__ fa::shared<float, 64> line;
  const int i = int(threadIdx.x);
  line[i] = row[i];
  __syncthreads();
  line[i] = line[(i + 1) % 64];
  row[i] = line[i];
}
const char* const rotate_fault = R"(
shared memory: line[1] is touched by two threads with no barrier between
  in rotate_kernel, block (0, 0, 0), thread (1, 0, 0)
  thread (0, 0, 0) read it,
  thread (1, 0, 0) writes it,
  both after the barrier at simt_faulty_kernels.h:60 (in a loop, one may be a round ahead))";
// [/missing-barrier]

// [missing-warp-barrier]
__global__ void warp_sum_kernel(fa::hbm<int> sum) {
  __shared__ fa::shared<int, 64> sums;
  const int i = int(threadIdx.x);
  sums[i] = i;
  __syncthreads();
  if (i >= 32) return;  // one warp stays
  for (int half = 32; half > 0; half /= 2) sums[i] += sums[i + half];
  if (i == 0) sum[0] = sums[0];
}
const char* const warp_sum_fault = R"(
shared memory: sums[1] is touched by two threads with no barrier between
  in warp_sum_kernel, block (0, 0, 0), thread (1, 0, 0)
  thread (0, 0, 0) read it,
  thread (1, 0, 0) writes it,
  both after the barrier at simt_faulty_kernels.h:77 (in a loop, one may be a round ahead))";
// [/missing-warp-barrier]

// [two-blocks]
__global__ void last_wins_kernel(fa::hbm<float> out) {
  if (threadIdx.x == 0) out[int(blockIdx.x) / 2] = float(blockIdx.x);
}
const char* const last_wins_fault = R"(
HBM: out[0] is touched by two blocks, which run in no order
  in last_wins_kernel, block (1, 0, 0), thread (0, 0, 0)
  block (0, 0, 0), thread (0, 0, 0) wrote it,
  block (1, 0, 0), thread (0, 0, 0) writes it in the same launch)";
// [/two-blocks]

// [barrier-in-a-branch]
__global__ void ragged_kernel(fa::hbm<float> out, int rows) {
  const int row = int(threadIdx.x);
  if (row >= rows) return;
  out[row] = 1.0f;
  __syncthreads();
}
const char* const ragged_fault = R"(
a barrier that not all threads reach
  in ragged_kernel, block (0, 0, 0), thread (0, 0, 0)
  thread (0, 0, 0) waits at the barrier at simt_faulty_kernels.h:106
  thread (50, 0, 0) has come to the end of the kernel)";

__global__ void two_barriers_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
const char* const two_barriers_fault = R"(
the threads of a block wait at different barriers
  in two_barriers_kernel, block (0, 0, 0), thread (0, 0, 0)
  thread (0, 0, 0) waits at the barrier at simt_faulty_kernels.h:116
  thread (32, 0, 0) waits at the barrier at simt_faulty_kernels.h:118)";
// [/barrier-in-a-branch]

// [barrier-in-a-loop]
__global__ void pass_on_kernel(fa::hbm<float> out, int rounds_of_thread_3) {
  __shared__ fa::shared<float, 4> line;
  const int i = int(threadIdx.x), rounds = i == 3 ? rounds_of_thread_3 : 2;
  line[i] = float(i);
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const float next = line[(i + 1) % 4];
    __syncthreads();
    line[i] = next;
  }
  out[i] = line[i % 2];
}
const char* const pass_on_fault = R"(
a barrier that not all threads reach
  in pass_on_kernel, block (0, 0, 0), thread (0, 0, 0)
  thread (0, 0, 0) waits at the barrier at simt_faulty_kernels.h:134
  thread (3, 0, 0) has come to the end of the kernel
before that, shared memory: line[1] is touched by two threads with no barrier between
  in pass_on_kernel, block (0, 0, 0), thread (3, 0, 0)
  thread (1, 0, 0) wrote it,
  thread (3, 0, 0) reads it,
  both after the start of the kernel)";
// [/barrier-in-a-loop]

// [missing-lanes]
__global__ void ragged_max_kernel(fa::hbm<float> values, int count) {
  const int i = int(threadIdx.x);
  if (i >= count) return;
  values[i] = fmaxf(values[i], __shfl_xor_sync(0xffffffff, float(values[i]), 1));
}
const char* const ragged_max_fault = R"(
__shfl_xor_sync that not all lanes of its mask reach
  in ragged_max_kernel, block (0, 0, 0), thread (0, 0, 0)
  thread (0, 0, 0) waits at __shfl_xor_sync at simt_faulty_kernels.h:157, with the mask 0xffffffff
  thread (20, 0, 0) has come to the end of the kernel)";
// [/missing-lanes]

// [too-much-shared]
__global__ void tiles_kernel(int rows) {
  fa::DynamicShared memory;
  memory.matrix<float>("q_tile", rows, 64);
  memory.matrix<float>("k_tile", rows, 64);
}
const char* const tiles_fault = R"(
dynamic shared memory: 'k_tile' needs bytes 8192 to 16384, but the launch asked for 8192
  in tiles_kernel, block (0, 0, 0), thread (0, 0, 0))";
// [/too-much-shared]

// [spinning]
__global__ void wait_kernel(fa::hbm<int> flag) {
  if (threadIdx.x == 1) flag[0] = 1;
  while (flag[0] == 0) continue;
}
const char* const wait_fault = R"(
HBM: 2097152 reads of 'flag' by one thread with no barrier between, the last of element 0
  in wait_kernel, block (0, 0, 0), thread (0, 0, 0)
  does it wait for another thread in a loop? On the emulator, the others go on when it comes to a barrier)";
// [/spinning]

// [too-many-accesses]
__global__ void sum_kernel(fa::hbm<float> out, int loads) {
  __shared__ fa::shared<float, 32> line;
  line[0] = 1.0f;
  float sum = 0.0f;
  for (int i = 0; i < loads; ++i) sum += line[0];
  out[0] = sum;
}
const char* const sum_fault = R"(
shared memory: 1048576 reads of 'line' by one thread with no barrier between: too many to count their bank conflicts
  in sum_kernel, block (0, 0, 0), thread (0, 0, 0))";
// [/too-many-accesses]

}  // namespace
