// Asynchronous copies on the emulator: when they arrive, what they count, and who must wait for whom.

#include <algorithm>
#include <cstdint>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

using fa::Index;
using fa::Traffic;
using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::in_each_order;

// out = the first `valid` elements of `in`, then zeros, through shared memory, `bytes` at a time. 64 elements for each
// block.
template <class T>
__global__ void copy_kernel(fa::hbm<const T> in, fa::hbm<T> out, int bytes, int valid) {
  __shared__ fa::shared<T, 64> line;
  const int each = bytes / int(sizeof(T)), begin = int(blockIdx.x) * 64;
  for (int e = int(threadIdx.x) * each; e < 64; e += int(blockDim.x) * each) {
    const int zeros = std::clamp(begin + e + each - valid, 0, each) * int(sizeof(T));
    __pipeline_memcpy_async(&line[e], in + (begin + e), std::size_t(bytes), std::size_t(zeros));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int e = int(threadIdx.x); e < 64; e += int(blockDim.x)) out[begin + e] = line[e];
}

template <class T>
void check_copies(int bytes, int valid, Index sectors) {
  const std::vector<T> values = counting_up<T>(128);
  const fa::DeviceBuffer<T> in("in", values);
  fa::DeviceBuffer<T> out("out", 128);
  const fa::DeviceMeter meter;
  fa::launch<copy_kernel<T>>({{2}, {64}}, in.data(), out.data(), bytes, valid);
  std::vector<T> expected = values;
  std::fill(expected.begin() + valid, expected.end(), T(0));
  CHECK(out.to_host() == expected);
  CHECK(meter.of("in") == Traffic{valid * Index{sizeof(T)}, 0});
  CHECK(meter.read_sectors() == sectors);
}

}  // namespace

TEST_CASE("asynchronous copies of 4, 8 and 16 bytes bring the elements, and count what they read") {
  in_each_order([] {
    for (const int bytes : {4, 8, 16}) {
      check_copies<float>(bytes, 128, 16);
      check_copies<int>(bytes, 128, 16);
      check_copies<fa::half>(bytes, 128, 8);
      check_copies<std::int8_t>(bytes, 128, 4);
    }
    check_copies<double>(8, 128, 32);
    check_copies<double>(16, 128, 32);
  });
}

TEST_CASE("the bytes that an asynchronous copy fills with zeros are not read") {
  in_each_order([] {
    check_copies<float>(16, 81, 11);
    check_copies<float>(16, 64, 8);
    check_copies<float>(4, 1, 1);
    check_copies<fa::bfloat16>(16, 83, 6);
    check_copies<fa::half>(8, 0, 0);
  });
}

namespace {

// The address of a copy that reads nothing may be anywhere.
__global__ void zeros_kernel(fa::hbm<float> out) {
  __shared__ fa::shared<float, 4> line;
  __pipeline_memcpy_async(&line[0], fa::hbm<const float>(), 16, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; ++i) out[i] = line[i];
}

// Copies in three batches; which may be read after a wait for all but the latest `prior`?
__global__ void batches_kernel(fa::hbm<const float> in, fa::hbm<float> out, int prior, int read) {
  __shared__ fa::shared<float, 4, 4> tile;
  for (int batch = 0; batch < 3; ++batch) {
    __pipeline_memcpy_async(&tile[batch][0], in + 4 * batch, 16);
    __pipeline_commit();
  }
  __pipeline_memcpy_async(&tile[3][0], in + 12, 16);  // of no batch yet
  __pipeline_wait_prior(std::size_t(prior));
  out[0] = tile[read][1];
}

// Two tiles in turn: one is filled while the other is read.
__global__ void stages_kernel(fa::hbm<const float> in, fa::hbm<float> out, int tiles, bool wait_for_all) {
  __shared__ fa::shared<float, 2, 128> tile;
  const int me = int(threadIdx.x);
  __pipeline_memcpy_async(&tile[0][4 * me], in + 4 * me, 16);
  __pipeline_commit();
  float sum = 0.0f;
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) __pipeline_memcpy_async(&tile[(t + 1) % 2][4 * me], in + (128 * (t + 1) + 4 * me), 16);
    __pipeline_commit();
    __pipeline_wait_prior(wait_for_all ? 0 : 1);
    __syncthreads();
    for (int i = 0; i < 4; ++i) sum += tile[t % 2][127 - (4 * me + i)];
    __syncthreads();
  }
  out[me] = sum;
}

}  // namespace

TEST_CASE("a copy that reads nothing may come from nowhere") {
  fa::DeviceBuffer<float> out("out", 4);
  const fa::DeviceMeter meter;
  fa::launch<zeros_kernel>({{1}, {1}}, out.data());
  CHECK(out.to_host() == std::vector<float>(4, 0.0f));
  CHECK(meter.total() == Traffic{0, 16});
}

TEST_CASE("a wait is for all batches but the latest ones, and for nothing that was not committed") {
  const fa::DeviceBuffer<float> in("in", counting_up(16));
  fa::DeviceBuffer<float> out("out", 1);
  for (int prior = 0; prior <= 4; ++prior) {
    for (int read = 0; read < 4; ++read) {
      INFO("prior " << prior << ", read " << read);
      const auto run = [&] { fa::launch<batches_kernel>({{1}, {1}}, in.data(), out.data(), prior, read); };
      if (read < 3 - prior) {
        run();
        CHECK(out.to_host()[0] == float(4 * read + 1));
      } else {
        check_fault(run, {"shared memory: tile[" + std::to_string(read) +
                          "][1] is read before an asynchronous copy into it has arrived"});
      }
    }
  }
}

TEST_CASE("a tile may be filled while another one is read") {
  in_each_order([] {
    const fa::DeviceBuffer<float> in("in", counting_up(5 * 128));
    fa::DeviceBuffer<float> out("out", 32);
    for (const bool wait_for_all : {false, true}) {
      fa::launch<stages_kernel>({{1}, {32}}, in.data(), out.data(), 5, wait_for_all);
      for (int me = 0; me < 32; ++me) {
        float expected = 0.0f;
        for (int t = 0; t < 5; ++t) {
          for (int i = 0; i < 4; ++i) expected += float(128 * t + 127 - (4 * me + i));
        }
        CHECK(out.to_host()[std::size_t(me)] == expected);
      }
    }
  });
}

// ---- Who waits for whom

namespace {

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
  for (const int mistake : {int(no_commit), int(no_wait)}) {
    check_mistake(mistake, {"shared memory: line[3] is read before an asynchronous copy into it has arrived\n"
                            "  in hand_over_kernel, block (0, 0, 0), thread (",
                            "  thread (0, 0, 0) issued the copy; __pipeline_wait_prior is missing there, or a barrier "
                            "after it"});
  }
  for (const int mistake : {int(write_in_flight), int(add_in_flight), int(copy_in_flight)}) {
    check_mistake(mistake, {"shared memory: line[2] is written before an asynchronous copy into it has arrived\n"
                            "  in hand_over_kernel, block (0, 0, 0), thread (0, 0, 0)"});
  }
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

TEST_CASE("without checks, copies arrive at the wait all the same, and until then there is poison") {
  fa::simt::Settings unchecked;
  unchecked.checks = false;
  const fa::simt::With settings(unchecked);
  check_copies<float>(16, 81, 11);
  const fa::DeviceBuffer<float> in("in", counting_up(16));
  fa::DeviceBuffer<float> out("out", 1);
  fa::launch<batches_kernel>({{1}, {1}}, in.data(), out.data(), 1, 1);
  CHECK(out.to_host()[0] == 5.0f);
  fa::launch<batches_kernel>({{1}, {1}}, in.data(), out.data(), 1, 2);
  CHECK(fa::is_poison(out.to_host()[0]));
}
