// Asynchronous copies on the emulator: who must wait for whom, and which copies there are.

#include <utility>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::in_each_order;

enum Mistake {
  none,
  no_commit,
  no_wait,
  no_barrier,
  barrier_before_wait,
  write_in_flight,
  add_in_flight,
  copy_in_flight,
  no_barrier_before_the_next
};

// Thread 0 copies; then the last thread reads, twice.
__global__ void hand_over_kernel(fa::hbm<const float> in, fa::hbm<float> out, int mistake) {
  __shared__ fa::shared<float, 4> line;
  const bool copies = threadIdx.x == 0, reads = threadIdx.x == blockDim.x - 1;
  for (int round = 0; round < 2; ++round) {
    if (copies) {
      __pipeline_memcpy_async(&line[0], in + 4 * round, 16);
      if (mistake != no_commit) __pipeline_commit();
      if (mistake == write_in_flight) line[2] = 0.0f;
      if (mistake == add_in_flight) atomicAdd(&line[2], 1.0f);
      if (mistake == copy_in_flight) __pipeline_memcpy_async(&line[2], in + 0, 4);
    }
    if (mistake == barrier_before_wait) __syncthreads();
    if (mistake != no_wait) __pipeline_wait_prior(0);
    if (mistake != no_barrier && mistake != barrier_before_wait) __syncthreads();
    if (reads) out[round] = line[3];
    if (mistake != no_barrier_before_the_next) __syncthreads();
  }
}

void check_mistake(int mistake, std::initializer_list<std::string> texts) {
  for (const int threads : {2, 64}) {
    in_each_order([&] {
      const fa::DeviceBuffer<float> in("in", counting_up(8));
      fa::DeviceBuffer<float> out("out", 2);
      check_fault([&] { fa::launch<hand_over_kernel>({{2}, {threads}}, in.data(), out.data(), mistake); }, texts);
    });
  }
}

}  // namespace

TEST_CASE("an asynchronous copy reaches other threads by a wait and then a barrier") {
  in_each_order([] {
    const fa::DeviceBuffer<float> in("in", counting_up(8));
    fa::DeviceBuffer<float> out("out", 2);
    fa::launch<hand_over_kernel>({{1}, {64}}, in.data(), out.data(), int(none));
    CHECK(out.to_host() == std::vector<float>{3, 7});
  });
}

TEST_CASE("an element that an asynchronous copy has not reached may not be touched") {
  for (const auto& [mistake, missing] :
       {std::pair{no_commit, "; no __pipeline_commit there has followed\n"},
        std::pair{no_wait, ", in batch 1 of 1; no __pipeline_wait_prior there has waited for it\n"}}) {
    check_mistake(mistake, {"shared memory: line[3] is read before an asynchronous copy into it has arrived\n"
                            "  in hand_over_kernel, block (0, 0, 0), thread (",
                            std::string("  thread (0, 0, 0) issued the copy") + missing +
                                "  others also need a barrier after that wait"});
  }
  for (const int mistake : {int(write_in_flight), int(add_in_flight), int(copy_in_flight)}) {
    check_mistake(mistake, {"shared memory: line[2] is written before an asynchronous copy into it has arrived\n"
                            "  in hand_over_kernel, block (0, 0, 0), thread (0, 0, 0)"});
  }
}

TEST_CASE("of what came too late, a copy is named as the writer") {
  const fa::DeviceBuffer<float> in("in", counting_up(8));
  fa::DeviceBuffer<float> out("out", 2);
  check_fault([&] { fa::launch<hand_over_kernel>({{1}, {2}}, in.data(), out.data(), int(barrier_before_wait)); },
              {"thread (0, 0, 0) wrote it, by an asynchronous copy that came when it waited for it,\n"
               "  thread (1, 0, 0) reads it"});
}

TEST_CASE("other threads need a barrier after the wait, and before the next copy") {
  check_mistake(no_barrier, {"shared memory: ", "line[3]", "in hand_over_kernel"});
  check_mistake(barrier_before_wait, {"shared memory: ", "line[3]", "in hand_over_kernel"});
  check_mistake(no_barrier_before_the_next,
                {"shared memory: line[3] is touched by two threads with no barrier between", "thread (0, 0, 0) w"});
}

// ---- What a copy may be

namespace {

template <class T>
__global__ void any_copy_kernel(fa::hbm<const T> in, int to, int from, int bytes, int zeros) {
  __shared__ fa::shared<T, 2, 24> tile;
  __pipeline_memcpy_async(&tile[1][to], in + from, std::size_t(bytes), std::size_t(zeros));
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

template <class T>
std::string any_copy(int to, int from, int bytes, int zeros) {
  const fa::DeviceBuffer<T> in("in", std::vector<T>(32, T(0)));
  return fa::simt::fault_of([&] { fa::launch<any_copy_kernel<T>>({{1}, {1}}, in.data(), to, from, bytes, zeros); });
}

}  // namespace

TEST_CASE("a copy of a size that CUDA does not have is reported with those it has") {
  using Catch::Matchers::StartsWith;
  CHECK(any_copy<float>(0, 0, 16, 0).empty());
  CHECK(any_copy<float>(0, 0, 16, 16).empty());
  for (const int bytes : {0, 1, 2, 12, 20, 32}) {
    CHECK_THAT(any_copy<float>(0, 0, bytes, 0), StartsWith("an asynchronous copy of " + std::to_string(bytes) +
                                                           " bytes: must be 4, 8 or 16\n  in any_copy_kernel"));
  }
  CHECK_THAT(any_copy<float>(0, 0, 8, 12),
             StartsWith("an asynchronous copy of 8 bytes, of which 12 are zeros: must be at most all"));
  CHECK_THAT(any_copy<float>(0, 0, 16, 2), StartsWith("an asynchronous copy of 16 bytes, of which 2 are zeros: both "
                                                      "must be multiples of an element's 4"));
  CHECK_THAT(any_copy<double>(0, 0, 4, 0), StartsWith("an asynchronous copy of 4 bytes, of which 0 are zeros: both "
                                                      "must be multiples of an element's 8"));
}

TEST_CASE("addresses of a copy that are no multiples of its size are reported") {
  using Catch::Matchers::StartsWith;
  CHECK(any_copy<fa::half>(8, 16, 16, 0).empty());
  CHECK(any_copy<fa::half>(2, 6, 4, 0).empty());
  CHECK_THAT(
      any_copy<fa::half>(4, 16, 16, 0),
      StartsWith("an asynchronous copy to elements at tile[1][4], which begins at byte 56: must be a multiple of "
                 "16\n  in any_copy_kernel"));
  CHECK_THAT(
      any_copy<fa::half>(8, 1, 16, 0),
      StartsWith("an asynchronous copy from elements at in[1], which begins at byte 2: must be a multiple of 16"));
  CHECK_THAT(any_copy<float>(1, 2, 8, 0), StartsWith("an asynchronous copy to elements at tile[1][1]"));
}

TEST_CASE("a copy past the end of either array is reported") {
  using Catch::Matchers::StartsWith;
  CHECK(any_copy<float>(20, 28, 16, 0).empty());
  CHECK_THAT(any_copy<float>(0, 32, 4, 0), StartsWith("HBM: read of in[32], which has 32 elements"));
  CHECK_THAT(any_copy<float>(0, -4, 16, 0), StartsWith("HBM: read of in[-4], which has 32 elements"));
  CHECK_THAT(any_copy<float>(24, 0, 4, 0), StartsWith("shared memory: index 24 in dimension 1 of 'tile'"));
}

namespace {

// Of 30 bytes: no copy of 16 bytes ends with it.
__global__ void past_the_end_kernel(fa::hbm<const fa::half> in) {
  fa::DynamicShared memory;
  const auto line = memory.array<fa::half>("line", 15);
  __pipeline_memcpy_async(&line[8], in, 16);
}

__global__ void unwritten_kernel(fa::hbm<const float> in) {
  __shared__ fa::shared<float, 4> line;
  __pipeline_memcpy_async(&line[0], in, 16, 4);
}

// Block 1 runs on the same core after block 0, which leaves a copy in flight.
__global__ void left_behind_kernel(fa::hbm<const float> in, fa::hbm<float> out) {
  __shared__ fa::shared<float, 4> line;
  if (blockIdx.x == 0) {
    __pipeline_memcpy_async(&line[0], in, 16);
    return;
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; ++i) line[i] = 1.0f;
  out[0] = line[0];
}

}  // namespace

TEST_CASE("a copy that is longer than what is left of its array is reported") {
  const fa::DeviceBuffer<fa::half> in("in", std::vector<fa::half>(8, fa::half(0.0f)));
  check_fault([&] { fa::launch<past_the_end_kernel>({{1}, {1}, 32}, in.data()); },
              {"shared memory: write to 8 elements of 'line', the first of them element 8, past its end: it has 15"});
}

TEST_CASE("a copy of what nothing wrote is reported, but not of what it fills with zeros") {
  fa::DeviceBuffer<float> in("in", 4);
  const auto run = [&] { fa::launch<unwritten_kernel>({{1}, {1}}, std::as_const(in).data()); };
  in.from_host(std::vector<float>{1, 2, 3});
  CHECK_NOTHROW(run());
  fa::DeviceBuffer<float> other("other", 4);
  other.from_host(std::vector<float>{1, 2});
  check_fault([&] { fa::launch<unwritten_kernel>({{1}, {1}}, std::as_const(other).data()); },
              {"HBM: read of other[2], which nothing wrote"});
}

TEST_CASE("a kernel may end with a copy in flight, and no later block is disturbed") {
  const fa::simt::With one_core(fa::simt::with_workers(1));
  const fa::DeviceBuffer<float> in("in", counting_up(4));
  fa::DeviceBuffer<float> out("out", 1);
  fa::launch<left_behind_kernel>({{2}, {1}}, in.data(), out.data());
  CHECK(out.to_host()[0] == 1.0f);
}
