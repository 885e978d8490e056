// Asynchronous copies on the emulator: what they bring, when they arrive, and what they count.

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
