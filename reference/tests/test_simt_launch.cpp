// fa::launch on the emulator: who runs, in which order, on how many cores, and what comes out of a launch that fails.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "simt_support.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::fault_of;
using fa::simt::in_each_order;
using fa::simt::Order;

// ---- Who

// Each thread at its place in the whole grid: x runs fastest, threads before blocks.
__global__ void who_kernel(fa::hbm<int> seen) {
  const int block = int((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  const int thread = int((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  const int threads = int(blockDim.x * blockDim.y * blockDim.z);
  atomicAdd(&seen[block * threads + thread], 1);
}

}  // namespace

TEST_CASE("every thread of every block of a grid runs once, in up to three dimensions") {
  in_each_order([] {
    for (const auto& [grid, block] :
         {std::pair<fa::Extents, fa::Extents>{{1}, {1}}, {{7}, {33}}, {{2, 3, 4}, {5, 3, 2}}, {{1, 70}, {1, 1, 64}}}) {
      const fa::Index count = grid.x * grid.y * grid.z * block.x * block.y * block.z;
      fa::DeviceBuffer<int> seen("seen", std::vector<int>(std::size_t(count)));
      fa::launch<who_kernel>({grid, block}, seen.data());
      CHECK(seen.to_host() == std::vector<int>(std::size_t(count), 1));
    }
  });
}

// ---- In which order

namespace {

__global__ void order_kernel(fa::hbm<int> counter, fa::hbm<int> turn) {
  turn[int(blockIdx.x * blockDim.x + threadIdx.x)] = atomicAdd(&counter[int(blockIdx.x)], 1);
}

// When the threads of two blocks had their turns.
std::vector<int> turns(Order order, std::uint64_t seed = 1) {
  const fa::simt::With settings({.order = order, .seed = seed});
  fa::DeviceBuffer<int> counter("counter", std::vector<int>(2)), turn("turn", 2 * 40);
  fa::launch<order_kernel>({{2}, {40}}, counter.data(), turn.data());
  return turn.to_host();
}

}  // namespace

TEST_CASE("threads run forward, backward, or shuffled by a seed") {
  std::vector<int> forward = counting_up<int>(40), backward(forward.rbegin(), forward.rend());
  forward.insert(forward.end(), forward.begin(), forward.begin() + 40);
  backward.insert(backward.end(), backward.begin(), backward.begin() + 40);
  CHECK(turns(Order::forward) == forward);
  CHECK(turns(Order::backward) == backward);
  CHECK(turns(Order::forward) == forward);

  const std::vector<int> shuffled = turns(Order::shuffled, 7);
  std::vector<int> sorted = shuffled;
  std::sort(sorted.begin(), sorted.begin() + 40);
  std::sort(sorted.begin() + 40, sorted.end());
  CHECK(sorted == forward);  // each thread has one turn
  CHECK(shuffled != forward);
  CHECK(shuffled == turns(Order::shuffled, 7));
  CHECK(shuffled != turns(Order::shuffled, 8));
  CHECK_FALSE(std::equal(shuffled.begin(), shuffled.begin() + 40, shuffled.begin() + 40));  // each block its own
  const std::vector<int> next_seed = turns(Order::shuffled, 8);  // by seed + block, whatever ran before on this core
  CHECK(std::equal(shuffled.begin() + 40, shuffled.end(), next_seed.begin()));
}

// ---- Several cores

namespace {

__global__ void fail_in_some_kernel(fa::hbm<int> out, int first, int step, bool early_ones_last) {
  const int block = int(blockIdx.x);
  for (int e = 0; e < 100 * (early_ones_last ? 60 - block : block); ++e) out[block] = e;
  __syncthreads();
  if (block >= first && (block - first) % step == 0) out[-block] = 1;
  __syncthreads();
}

__global__ void work_kernel(fa::hbm<const float> in, fa::hbm<float> out, int count) {
  __shared__ fa::shared<float, 64> tile;
  const int me = int(threadIdx.x);
  const int at = int(blockIdx.x) * 64 + me;
  tile[me] = at < count ? in[at] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int e = 0; e <= me; ++e) sum += tile[e];
  if (at < count) out[at] = sum;
}

}  // namespace

TEST_CASE("several cores give the same results and counts as one") {
  const fa::DeviceBuffer<float> in("in", counting_up(1000));
  std::vector<std::vector<float>> results;
  std::vector<fa::Traffic> traffic;
  std::vector<fa::Index> sectors;
  for (const int workers : {1, 2, 3, 7, 1}) {
    const fa::simt::With settings(fa::simt::with_workers(workers));
    fa::DeviceBuffer<float> out("out", 1000);
    const fa::DeviceMeter meter;
    for (int round = 0; round < 5; ++round) fa::launch<work_kernel>({{16}, {64}}, in.data(), out.data(), 1000);
    results.push_back(out.to_host());
    traffic.push_back(meter.total());
    sectors.push_back(meter.read_sectors() + 1'000'000 * meter.written_sectors());
  }
  for (std::size_t at = 1; at < results.size(); ++at) {
    CHECK(results[at] == results[0]);
    CHECK(traffic[at] == traffic[0]);
    CHECK(sectors[at] == sectors[0]);
  }
}

TEST_CASE("of several blocks that fail, the first one of the grid is reported, on any number of cores") {
  for (const int workers : {1, 2, 4}) {
    const fa::simt::With settings(fa::simt::with_workers(workers));
    for (int round = 0; round < 40; ++round) {
      fa::DeviceBuffer<int> out("out", 60);
      check_fault([&] { fa::launch<fail_in_some_kernel>({{60}, {1}}, out.data(), 5, 1 + round % 3, round % 2 == 0); },
                  {"HBM: write to out[-5], which has 60 elements", "block (5, 0, 0)"});
    }
  }
}

namespace {

std::atomic<int> running_blocks, failing_blocks;

// Block 0 fails while block 1 runs; block 1 fails when that is long over.
__global__ void fail_in_turn_kernel(fa::hbm<int> out) {
  const int block = int(blockIdx.x);
  ++running_blocks;
  while (running_blocks < 2) std::this_thread::yield();
  while (failing_blocks < block) std::this_thread::yield();
  if (block == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ++failing_blocks;
  out[-1 - block] = 1;
}

}  // namespace

TEST_CASE("a block that fails later than an earlier one does not hide it") {
  const fa::simt::With settings(fa::simt::with_workers(2));
  running_blocks = failing_blocks = 0;
  fa::DeviceBuffer<int> out("out", 1);
  check_fault([&] { fa::launch<fail_in_turn_kernel>({{2}, {1}}, out.data()); }, {"out[-1]", "block (0, 0, 0)"});
  CHECK(failing_blocks == 2);
}

// ---- What a kernel throws comes out of launch(), and the next launch runs

namespace {

struct Surprise {
  int value;
};

int alive = 0;  // locals of kernels
struct Local {
  Local() { ++alive; }
  ~Local() { --alive; }
};

__global__ void throwing_kernel(int what) {
  const Local local;
  __syncthreads();
  if (what == 1 && threadIdx.x == 40) fa::todo("Step 2: softmax");
  if (what == 2 && threadIdx.x == 40) throw std::out_of_range("of a vector");
  if (what == 3 && threadIdx.x == 40) throw Surprise{9};
  if (what == 4 && threadIdx.x == 40) return;
  __syncthreads();
}

}  // namespace

TEST_CASE("what a kernel throws, launch throws; destructors run; the next launch is not disturbed") {
  in_each_order([] {
    if (fa::simt::settings().workers > 1) return;  // `alive` is for one core
    for (int round = 0; round < 3; ++round) {
      CHECK_THROWS_MATCHES(fa::launch<throwing_kernel>({{2}, {64}}, 1), fa::NotStarted,
                           Catch::Matchers::Message("not started: Step 2: softmax"));
      CHECK(alive == 0);
      CHECK_THROWS_AS(fa::launch<throwing_kernel>({{2}, {64}}, 2), std::out_of_range);
      CHECK_THROWS_AS(fa::launch<throwing_kernel>({{2}, {64}}, 3), Surprise);
      check_fault([] { fa::launch<throwing_kernel>({{2}, {64}}, 4); }, {"a barrier that not all threads reach"});
      CHECK(alive == 0);
      fa::launch<throwing_kernel>({{2}, {64}}, 0);
      CHECK(alive == 0);
      fa::DeviceBuffer<int> seen("seen", std::vector<int>(5 * 70));
      fa::launch<who_kernel>({{5}, {70}}, seen.data());
      CHECK(seen.to_host() == std::vector<int>(5 * 70, 1));
    }
  });
}

// ---- Shapes that a GPU would refuse (the limits are in test_launch_shape.cpp)

TEST_CASE("a shape that a GPU would refuse names kernel, place, argument and limit, and nothing runs") {
  fa::DeviceBuffer<int> seen("seen", std::vector<int>(1));
  const auto rejects = [&](const fa::LaunchShape& shape, const std::string& text) {
    const std::string place = "test_simt_launch.cpp:" + std::to_string(shape.where.line);
    CHECK_THROWS_MATCHES(fa::launch<who_kernel>(shape, seen.data()), fa::LaunchError,
                         Catch::Matchers::MessageMatches(ContainsSubstring("who_kernel, launched at ") &&
                                                         ContainsSubstring(place + ": " + text)));
  };
  rejects({{1}, {1025}}, "block.x = 1025: must be at most 1024");
  rejects({{1}, {32, 33}}, "threads of a block, block.x · block.y · block.z = 1056: must be at most 1024");
  rejects({{1}, {1, 1, 65}}, "block.z = 65: must be at most 64");
  rejects({{0}, {1}}, "grid.x = 0: must be at least 1");
  rejects({{1}, {0}}, "block.x = 0: must be at least 1");
  rejects({{1, 65536}, {1}}, "grid.y = 65536: must be at most 65535");
  rejects({{1, 1, 65536}, {1}}, "grid.z = 65536: must be at most 65535");
  rejects({{1}, {1}, 232'449}, "shared_bytes = 232449: must be at most 232448, what a block of this device");
  rejects({{1}, {1}, -1}, "shared_bytes = -1: must be at least 0");
  CHECK(seen.to_host()[0] == 0);
}

TEST_CASE("the largest blocks run, and many small ones") {
  for (const fa::Extents& block : {fa::Extents{1024}, {32, 32}, {4, 4, 64}}) {
    fa::DeviceBuffer<int> seen("seen", std::vector<int>(2048));
    fa::launch<who_kernel>({{2}, block, 232'448}, seen.data());
    CHECK(seen.to_host() == std::vector<int>(2048, 1));
  }
  fa::DeviceBuffer<int> seen("seen", std::vector<int>(65'535));
  fa::launch<who_kernel>({{1, 65'535}, {1}}, seen.data());
  CHECK(seen.to_host() == std::vector<int>(65'535, 1));
}

// ---- Kernels that a GPU could not run, or not end

namespace {

__global__ void parent_kernel(fa::hbm<int> seen) { fa::launch<who_kernel>({{1}, {1}}, seen); }

__global__ void waiting_kernel(fa::hbm<int> flag) {
  if (threadIdx.x == 1) flag[0] = 1;
  while (flag[0] == 0) {
  }
}

__global__ void stack_kernel(fa::hbm<float> out) {
  float local[10'000];  // 40 kB of a thread's own
  for (int e = 0; e < 10'000; ++e) local[e] = float(e + int(threadIdx.x));
  __syncthreads();
  float sum = 0.0f;
  for (int e = 0; e < 10'000; e += 1000) sum += local[e];
  out[int(threadIdx.x)] = sum;
}

}  // namespace

TEST_CASE("a kernel cannot launch another one") {
  fa::DeviceBuffer<int> seen("seen", std::vector<int>(1));
  check_fault([&] { fa::launch<parent_kernel>({{1}, {1}}, seen.data()); },
              {"launch of who_kernel in a kernel: only the host launches", "in parent_kernel, block (0, 0, 0)"});
}

TEST_CASE("a thread that waits for another one in a loop is reported, not waited for") {
  fa::DeviceBuffer<int> flag("flag", std::vector<int>(1));
  check_fault([&] { fa::launch<waiting_kernel>({{1}, {2}}, flag.data()); },
              {"HBM: 2097152 reads of 'flag' by one thread with no barrier between", "in waiting_kernel",
               "thread (0, 0, 0)", "does it wait for another thread in a loop?"});
}

TEST_CASE("a thread has room for arrays of its own") {
  fa::DeviceBuffer<float> out("out", 64);
  fa::launch<stack_kernel>({{1}, {64}}, out.data());
  for (int me = 0; me < 64; ++me) CHECK(out.to_host()[std::size_t(me)] == 45'000.0f + 10.0f * float(me));
}
