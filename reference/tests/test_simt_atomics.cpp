// Atomic operations on the emulator: what they compute, and that they need an order with everything but each other.

#include <algorithm>
#include <numeric>

#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::in_each_order;

// ---- Results

__global__ void each_kernel(fa::hbm<int> values, fa::hbm<int> old) {
  old[0] = atomicAdd(&values[0], 3);
  old[1] = atomicSub(&values[1], 3);
  old[2] = atomicMax(&values[2], 20);
  old[3] = atomicMax(&values[3], -20);
  old[4] = atomicMin(&values[4], 2);
  old[5] = atomicMin(&values[5], 20);
  old[6] = atomicExch(&values[6], 42);
  old[7] = atomicCAS(&values[7], 10, 43);
  old[8] = atomicCAS(&values[8], 11, 43);
  old[9] = atomicOr(&values[9], 5);
  old[10] = atomicAnd(&values[10], 6);
  old[11] = atomicAdd(values + 11, 1);
}

__global__ void each_shared_kernel(fa::hbm<int> values, fa::hbm<int> old) {
  __shared__ fa::shared<int, 3, 4> shared;
  for (int e = 0; e < 12; ++e) shared[e / 4][e % 4] = values[e];
  old[0] = atomicAdd(&shared[0][0], 3);
  old[1] = atomicSub(&shared[0][1], 3);
  old[2] = atomicMax(&shared[0][2], 20);
  old[3] = atomicMax(&shared[0][3], -20);
  old[4] = atomicMin(&shared[1][0], 2);
  old[5] = atomicMin(&shared[1][1], 20);
  old[6] = atomicExch(&shared[1][2], 42);
  old[7] = atomicCAS(&shared[1][3], 10, 43);
  old[8] = atomicCAS(&shared[2][0], 11, 43);
  old[9] = atomicOr(&shared[2][1], 5);
  old[10] = atomicAnd(&shared[2][2], 6);
  old[11] = atomicAdd(&shared[2][3], 1);
  for (int e = 0; e < 12; ++e) values[e] = shared[e / 4][e % 4];
}

template <auto kernel>
void check_each() {
  fa::DeviceBuffer<int> values("values", std::vector<int>(12, 10)), old("old", 12);
  fa::launch<kernel>({{1}, {1}}, values.data(), old.data());
  CHECK(old.to_host() == std::vector<int>(12, 10));
  CHECK(values.to_host() == std::vector<int>{13, 7, 20, 10, 2, 10, 42, 43, 10, 15, 2, 11});
}

__global__ void sum_kernel(fa::hbm<float> sums, fa::hbm<int> counts) {
  __shared__ fa::shared<float, 2> block_sums;
  if (threadIdx.x < 2) block_sums[int(threadIdx.x)] = 0.0f;
  __syncthreads();
  atomicAdd(&block_sums[int(threadIdx.x) % 2], float(threadIdx.x));
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd(&sums[int(threadIdx.x)], block_sums[int(threadIdx.x)]);
  atomicAdd(&counts[0], 1);
}

}  // namespace

TEST_CASE("each atomic operation returns the old value and stores the new one, in HBM and in shared memory") {
  check_each<each_kernel>();
  check_each<each_shared_kernel>();
}

TEST_CASE("no sum is lost among threads and blocks") {
  in_each_order([] {
    fa::DeviceBuffer<float> sums("sums", std::vector<float>(2));
    fa::DeviceBuffer<int> counts("counts", std::vector<int>(1));
    for (int round = 0; round < 20; ++round) fa::launch<sum_kernel>({{50}, {70}}, sums.data(), counts.data());
    CHECK(sums.to_host() == std::vector<float>{1000.0f * 1190.0f, 1000.0f * 1225.0f});
    CHECK(counts.to_host()[0] == 70'000);
  });
}

TEST_CASE("an atomic operation counts as a read and a write") {
  fa::DeviceBuffer<float> sums("sums", std::vector<float>(2));
  fa::DeviceBuffer<int> counts("counts", std::vector<int>(1));
  const fa::DeviceMeter meter;
  fa::launch<sum_kernel>({{5}, {70}}, sums.data(), counts.data());
  CHECK(meter.of("sums") == fa::Traffic{5 * 2 * 4, 5 * 2 * 4});
  CHECK(meter.of("counts") == fa::Traffic{5 * 70 * 4, 5 * 70 * 4});
}

// ---- Order. An atomic operation is no barrier: neither for what came before it, nor for what comes after.

namespace {

enum Order { cleared_by_one, cleared_then_barrier, read_by_all, read_after_barrier };

// A sum in shared memory, which thread 0 sets to zero first.
__global__ void clear_and_add_kernel(int order) {
  __shared__ fa::shared<int, 1> sum;
  if (threadIdx.x == 0) sum[0] = 0;
  if (order != cleared_by_one) __syncthreads();
  atomicAdd(&sum[0], 1);
  if (order == read_after_barrier) __syncthreads();
  if (order >= read_by_all && sum[0] < 0) sum[0] = 0;
}

// The same in HBM, by blocks of one thread.
__global__ void clear_and_add_in_hbm_kernel(fa::hbm<int> sum) {
  if (blockIdx.x == 0) sum[0] = 0;
  atomicAdd(&sum[0], 1);
}

__global__ void look_and_add_kernel(fa::hbm<int> sum) {
  if (threadIdx.x == 0 && sum[0] > 5) return;
  atomicAdd(&sum[0], 1);
}

__global__ void warp_sum_kernel(fa::hbm<int> out) {
  __shared__ fa::shared<int, 2> sums;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  if (lane == 0) sums[warp] = 0;
  __syncwarp();
  atomicAdd(&sums[warp], 1);
  __syncwarp();
  if (lane == 5) out[warp] = sums[warp];
}

}  // namespace

TEST_CASE("a sum that one thread sets to zero while others add is a race, though that thread adds as well") {
  in_each_order([] {
    const std::string message =
        fa::simt::fault_of([] { fa::launch<clear_and_add_kernel>({{1}, {64}}, int(cleared_by_one)); });
    // Forward, thread 0 comes first; in another order somebody adds to what nothing wrote.
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(message, ContainsSubstring("sum[0] is touched by two threads with no barrier between") ||
                            ContainsSubstring("read of sum[0], which nothing wrote yet"));
  });
  const fa::simt::With forward({.order = fa::simt::Order::forward});
  check_fault([] { fa::launch<clear_and_add_kernel>({{1}, {64}}, int(cleared_by_one)); },
              {"shared memory: sum[0] is touched by two threads with no barrier between", "thread (0, 0, 0) wrote it",
               "thread (1, 0, 0) updates it atomically"});
  in_each_order([] { fa::launch<clear_and_add_kernel>({{1}, {64}}, int(cleared_then_barrier)); });
}

TEST_CASE("a sum that is read while others add is a race, though the reader adds as well") {
  in_each_order([] {
    check_fault([] { fa::launch<clear_and_add_kernel>({{1}, {64}}, int(read_by_all)); },
                {"sum[0] is touched by two threads with no barrier between"});
    fa::launch<clear_and_add_kernel>({{1}, {64}}, int(read_after_barrier));
    fa::DeviceBuffer<int> sum("sum", std::vector<int>(1));
    check_fault([&] { fa::launch<look_and_add_kernel>({{1}, {2}}, sum.data()); },
                {"HBM: sum[0] is touched by two threads with no barrier between", "thread (0, 0, 0) read"});
  });
}

TEST_CASE("a block that clears a sum to which other blocks add races with them, though it adds as well") {
  for (const int workers : {1, 2}) {
    const fa::simt::With settings(fa::simt::with_workers(workers));
    fa::DeviceBuffer<int> sum("sum", std::vector<int>(1));
    check_fault([&] { fa::launch<clear_and_add_in_hbm_kernel>({{3}, {1}}, sum.data()); },
                {"HBM: sum[0] is touched by two blocks, which run in no order"});
  }
}

TEST_CASE("a barrier of the warp orders atomic operations and reads of its lanes") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", 2);
    fa::launch<warp_sum_kernel>({{1}, {64}}, out.data());
    CHECK(out.to_host() == std::vector<int>{32, 32});
  });
}
