// A race, or a read of what nothing wrote yet, may come from a barrier that some threads skipped. Then that is what the
// emulator reports, and the rest after it.

#include "simt_support.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using fa::simt::fault_of;
using fa::simt::in_each_order;

enum Ending { end_of_kernel, other_barrier, shuffle, not_started };

// Some threads skip the barrier between writing a line and reading it, and all go on as `ending` says.
__global__ void skip_kernel(fa::hbm<int> out, int first_that_skips, int ending) {
  __shared__ fa::shared<int, 64> line;
  const int i = int(threadIdx.x);
  line[i] = i;
  if (i < first_that_skips) __syncthreads();
  const int next = line[(i + 1) % 64];
  if (ending == other_barrier) __syncthreads();
  if (ending == shuffle) __shfl_sync(0xffff'ffff, next, 0);
  if (ending == not_started) fa::todo("Step 2: the rest");
  out[i] = next;
}

std::string run_skip(int first_that_skips, Ending ending) {
  fa::DeviceBuffer<int> out("out", 64);
  return fault_of([&] { fa::launch<skip_kernel>({{1}, {64}}, out.data(), first_that_skips, int(ending)); });
}

}  // namespace

TEST_CASE("threads that skip a barrier and race are reported for the barrier, whatever comes next") {
  in_each_order([] {
    for (const int first : {1, 31, 32, 40}) {
      const std::string other = "\n  thread (" + std::to_string(first) + ", 0, 0) ";
      const std::string at_end = run_skip(first, end_of_kernel);
      CHECK_THAT(at_end, StartsWith("a barrier that not all threads reach\n") &&
                             ContainsSubstring("\n  thread (0, 0, 0) waits at the barrier at ") &&
                             ContainsSubstring(other + "has come to the end of the kernel\n") &&
                             ContainsSubstring("\nbefore that, shared memory: "));
      const std::string at_other = run_skip(first, other_barrier);
      CHECK_THAT(at_other, StartsWith("the threads of a block wait at different barriers\n") &&
                               ContainsSubstring(other + "waits at the barrier at ") &&
                               ContainsSubstring("\nbefore that, shared memory: "));
    }
    CHECK_THAT(run_skip(32, shuffle), StartsWith("a barrier that not all threads reach\n") &&
                                          ContainsSubstring("\nbefore that, shared memory: "));
    CHECK_THAT(run_skip(40, shuffle), StartsWith("__shfl_sync that not all lanes of its mask reach\n") &&
                                          ContainsSubstring("\nbefore that, shared memory: "));
  });
}

TEST_CASE("if nobody waits at a barrier, the race or the read is all that is said") {
  in_each_order([] {
    for (const Ending ending : {end_of_kernel, other_barrier, shuffle}) {
      const std::string message = run_skip(0, ending);
      CHECK_THAT(message, StartsWith("shared memory: ") && !ContainsSubstring("before that"));
      CHECK(run_skip(64, ending).empty());
    }
  });
}

TEST_CASE("what a thread throws after a race does not hide the race") {
  const fa::simt::With backward({.order = fa::simt::Order::backward});
  CHECK_THAT(run_skip(0, not_started), StartsWith("shared memory: read of line[0], which nothing wrote yet\n"));
}

namespace {

__global__ void steps_kernel(fa::hbm<int> out, bool with_barrier) {
  __shared__ fa::shared<int, 64> line;
  const int i = int(threadIdx.x);
  for (int step = 0; step < 4; ++step) {
    line[i] = step;
    if (with_barrier) __syncthreads();
    out[i] = line[63 - i];
    __syncthreads();
  }
}

// Waits for another thread, or for nobody.
__global__ void wait_kernel(bool cleared) {
  __shared__ fa::shared<int, 1> flag;
  if (cleared && threadIdx.x == 0) flag[0] = 0;
  if (threadIdx.x == 1) {
    while (flag[0] == 0) continue;
  }
}

__global__ void use_kernel(fa::hbm<int> out, int touched) {
  fa::DynamicShared memory;
  const auto line = memory.array<int>("line", 2);
  line[touched] = 1'000'000'000;
  out[0] = line[0];
  out[1] = line[1];
}

}  // namespace

TEST_CASE("a race stops the block at its next barrier") {
  fa::DeviceBuffer<int> out("out", std::vector<int>(64, -1));
  CHECK_THAT(fault_of([&] { fa::launch<steps_kernel>({{1}, {64}}, out.data(), false); }),
             StartsWith("shared memory: read of line[63], which nothing wrote yet"));
  CHECK(out.to_host()[0] == 0);
  CHECK(fault_of([&] { fa::launch<steps_kernel>({{1}, {64}}, out.data(), true); }).empty());
}

TEST_CASE("a thread that races in an endless loop is stopped") {
  CHECK_THAT(fault_of([] { fa::launch<wait_kernel>({{1}, {2}}, true); }),
             StartsWith("shared memory: flag[0] is touched by two threads with no barrier between"));
  CHECK_THAT(fault_of([] { fa::launch<wait_kernel>({{1}, {2}}, false); }),
             StartsWith("shared memory: read of flag[0], which nothing wrote yet"));
}

TEST_CASE("shared memory that nothing wrote reads as zero until the block stops") {
  const fa::simt::With one_worker(fa::simt::with_workers(1));
  for (const int touched : {0, 1, 0}) {
    fa::DeviceBuffer<int> out("out", 2);
    const auto run = [&] { fa::launch<use_kernel>({{1}, {1}, 16}, out.data(), touched); };
    CHECK_THAT(fault_of(run), StartsWith("shared memory: read of line["));
    std::vector<int> expected(2);
    expected[std::size_t(touched)] = 1'000'000'000;
    CHECK(out.to_host() == expected);
  }
}
