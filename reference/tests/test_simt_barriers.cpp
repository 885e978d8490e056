// __syncthreads on the emulator: a barrier that not all threads reach is reported, never a hang.

#include "simt_support.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::fault_of;
using fa::simt::in_each_order;

std::string at_line(int line) { return "test_simt_barriers.cpp:" + std::to_string(line); }

// ---- Barriers that all reach

constexpr int kRounds = 5;

// In each round a thread takes what its neighbor had in the round before.
__global__ void rotate_kernel(fa::hbm<int> out) {
  __shared__ fa::shared<int, 1024> ring;
  const int threads = int(blockDim.x * blockDim.y * blockDim.z);
  const int me = int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  ring[me] = me;
  for (int round = 0; round < kRounds; ++round) {
    __syncthreads();
    const int next = ring[(me + 1) % threads];
    __syncthreads();
    ring[me] = next;
  }
  out[int(blockIdx.x) * threads + me] = ring[me];
}

}  // namespace

TEST_CASE("a barrier waits for all threads of the block") {
  for (const fa::Extents& block : {fa::Extents{1}, {31}, {32}, {33}, {1024}, {5, 3, 7}, {1, 64}, {1, 1, 64}}) {
    const int threads = int(block.x * block.y * block.z);
    in_each_order([&] {
      fa::DeviceBuffer<int> out("out", 3 * threads);
      fa::launch<rotate_kernel>({{3}, block}, out.data());
      std::vector<int> expected;
      for (int at = 0; at < 3 * threads; ++at) expected.push_back((at % threads + kRounds) % threads);
      CHECK(out.to_host() == expected);
    });
  }
}

// ---- Barriers that some do not reach

namespace {

__global__ void branch_kernel(int threads) {
  if (int(threadIdx.x) < threads) __syncthreads();
}
constexpr int kBranchLine = __LINE__ - 2;

__global__ void early_return_kernel(int threads) {
  if (int(threadIdx.x) >= threads) return;
  __syncthreads();
}
constexpr int kEarlyReturnLine = __LINE__ - 2;

__global__ void two_barriers_kernel(int threads) {
  if (int(threadIdx.x) < threads) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
constexpr int kTwoBarriersLine = __LINE__ - 5;

__global__ void loop_kernel(int rounds_of_thread_3) {
  const int rounds = threadIdx.x == 3 ? rounds_of_thread_3 : 4;
  for (int round = 0; round < rounds; ++round) __syncthreads();
}
constexpr int kLoopLine = __LINE__ - 2;

// clang-format off
__global__ void one_line_kernel(int threads) {
  if (int(threadIdx.x) < threads) __syncthreads(); else __syncthreads();
}
// clang-format on
constexpr int kOneLine = __LINE__ - 3;

__global__ void warp_against_block_kernel() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
constexpr int kWarpLine = __LINE__ - 5;

}  // namespace

TEST_CASE("a barrier in a branch that some threads skip is reported") {
  in_each_order([] {
    check_fault([] { fa::launch<branch_kernel>({{1}, {64}}, 50); },
                {"a barrier that not all threads reach\n  in branch_kernel, block (0, 0, 0), thread (0, 0, 0)",
                 "thread (0, 0, 0) waits at the barrier at " + at_line(kBranchLine),
                 "thread (50, 0, 0) has come to the end of the kernel"});
  });
  fa::launch<branch_kernel>({{1}, {64}}, 64);
  fa::launch<branch_kernel>({{1}, {64}}, 0);
}

TEST_CASE("threads that returned before a barrier are reported, in the first, the middle and the last warp") {
  in_each_order([] {
    for (const int threads : {1, 31, 32, 63, 95, 96}) {
      check_fault([&] { fa::launch<early_return_kernel>({{1}, {97}}, threads); },
                  {"a barrier that not all threads reach\n  in early_return_kernel, block (0, 0, 0), thread (0, 0, 0)",
                   "waits at the barrier at " + at_line(kEarlyReturnLine),
                   "thread (" + std::to_string(threads) + ", 0, 0) has come to the end of the kernel"});
    }
  });
  fa::launch<early_return_kernel>({{1}, {97}}, 97);
  fa::launch<early_return_kernel>({{1}, {97}}, 0);
}

TEST_CASE("threads that wait at two barriers are reported with both lines") {
  in_each_order([] {
    check_fault([] { fa::launch<two_barriers_kernel>({{2}, {64}}, 40); },
                {"the threads of a block wait at different barriers\n  in two_barriers_kernel, block (0, 0, 0)",
                 "thread (0, 0, 0) waits at the barrier at " + at_line(kTwoBarriersLine),
                 "waits at the barrier at " + at_line(kTwoBarriersLine + 2)});
  });
  fa::launch<two_barriers_kernel>({{2}, {64}}, 64);
}

TEST_CASE("threads that wait at two barriers in one line are reported with both columns") {
  in_each_order([] {
    check_fault([] { fa::launch<one_line_kernel>({{1}, {64}}, 40); },
                {"the threads of a block wait at different barriers",
                 "thread (0, 0, 0) waits at the barrier at " + at_line(kOneLine) + ", column ",
                 "thread (40, 0, 0) waits at the barrier at " + at_line(kOneLine) + ", column "});
  });
  fa::launch<one_line_kernel>({{1}, {64}}, 64);
}

TEST_CASE("a thread that takes part in fewer rounds of a loop, or in more, is reported") {
  in_each_order([] {
    check_fault([] { fa::launch<loop_kernel>({{1}, {40}}, 3); },
                {"a barrier that not all threads reach", at_line(kLoopLine),
                 "thread (3, 0, 0) has come to the end of the kernel"});
    check_fault([] { fa::launch<loop_kernel>({{1}, {40}}, 5); },
                {"a barrier that not all threads reach\n  in loop_kernel, block (0, 0, 0), thread (3, 0, 0)",
                 "thread (3, 0, 0) waits at the barrier at " + at_line(kLoopLine),
                 "thread (0, 0, 0) has come to the end of the kernel"});
  });
}

TEST_CASE("half a warp at __syncwarp and half at a barrier is reported") {
  in_each_order([] {
    check_fault([] { fa::launch<warp_against_block_kernel>({{1}, {32}}); },
                {"__syncwarp that not all lanes of its mask reach\n  in warp_against_block_kernel",
                 "waits at __syncwarp at " + at_line(kWarpLine) + ", with the mask 0xffffffff",
                 "thread (16, 0, 0) waits at the barrier at " + at_line(kWarpLine + 2)});
  });
}

namespace {

__global__ void stuck_kernel(fa::hbm<int> out) {
  if (blockIdx.x == 1 && blockIdx.y == 2 && threadIdx.y == 1) return;
  __syncthreads();
  out[0] = 1;
}

}  // namespace

TEST_CASE("a stuck block is reported with its place in the grid, and threads with theirs in the block") {
  fa::DeviceBuffer<int> out("out", 1);
  const fa::simt::With settings({.checks = false});  // blocks race for out[0]
  check_fault([&] { fa::launch<stuck_kernel>({{3, 3}, {2, 2}}, out.data()); },
              {"block (1, 2, 0), thread (0, 0, 0)", "thread (0, 1, 0) has come to the end of the kernel"});
}

// ---- The barrier that a message names is the last one

namespace {

__global__ void race_after_barriers_kernel(int barriers) {
  __shared__ fa::shared<int, 64> line;
  if (barriers > 0) __syncthreads();
  if (barriers > 1) {
    for (int round = 0; round < 3; ++round) __syncthreads();
  }
  line[int(threadIdx.x) / 2] = 1;
}
constexpr int kFirstLine = __LINE__ - 6;

}  // namespace

TEST_CASE("a race names the last barrier before it") {
  check_fault([] { fa::launch<race_after_barriers_kernel>({{1}, {64}}, 0); }, {"both after the start of the kernel"});
  check_fault([] { fa::launch<race_after_barriers_kernel>({{1}, {64}}, 1); },
              {"both after the barrier at " + at_line(kFirstLine)});
  check_fault([] { fa::launch<race_after_barriers_kernel>({{1}, {64}}, 2); },
              {"both after the barrier at " + at_line(kFirstLine + 2)});
}

namespace {

__global__ void race_kernel() {
  __shared__ fa::shared<int, 64> line;
  if (blockIdx.x == 0) __syncthreads();
  if (blockIdx.x == 1) line[int(threadIdx.x) / 2] = 1;
}

}  // namespace

TEST_CASE("a barrier of one block is not named in the next") {
  const fa::simt::With settings(fa::simt::with_workers(1));
  check_fault([] { fa::launch<race_kernel>({{2}, {64}}); }, {"both after the start of the kernel"});
}

namespace {

__global__ void some_leave_kernel(fa::hbm<int> out) {
  __syncthreads();
  if (threadIdx.x % 3 == 0) return;
  out[int(threadIdx.x)] = 1;
}

}  // namespace

TEST_CASE("threads may leave without a barrier ahead") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", std::vector<int>(70));
    fa::launch<some_leave_kernel>({{1}, {70}}, out.data());
    int sum = 0;
    for (const int value : out.to_host()) sum += value;
    CHECK(sum == 46);
  });
}
