// fa::Vector on the emulator: several neighbors are one request, at an address that is a multiple of their size.

#include <cstdint>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

using Catch::Matchers::StartsWith;
using fa::Index;
using fa::Traffic;
using fa::simt::counting_up;
using fa::simt::in_each_order;

// out = in, n elements at a time: from HBM to shared memory, and back.
template <class T, int n>
__global__ void copy_kernel(fa::hbm<const T> in, fa::hbm<T> out) {
  __shared__ fa::shared<T, 4, 32> tile;
  for (int e = int(threadIdx.x) * n; e < 128; e += int(blockDim.x) * n) {
    fa::store(&tile[e / 32][e % 32], fa::load<n>(in + e));
  }
  __syncthreads();
  for (int e = int(threadIdx.x) * n; e < 128; e += int(blockDim.x) * n) {
    const fa::Vector<T, n> vector = fa::load<n>(&tile[3 - e / 32][e % 32]);
    fa::store(&out[(3 - e / 32) * 32 + e % 32], vector);
  }
}

template <class T, int n>
void check_vectors() {
  const fa::DeviceBuffer<T> in("in", counting_up<T>(128));
  fa::DeviceBuffer<T> out("out", 128);
  const fa::DeviceMeter meter;
  fa::launch<copy_kernel<T, n>>({{1}, {32}}, in.data(), out.data());
  CHECK(out.to_host() == counting_up<T>(128));
  constexpr Index bytes = 128 * sizeof(T);
  CHECK(meter.total() == Traffic{bytes, bytes});
  CHECK(meter.read_sectors() == bytes / 32);
  CHECK(meter.written_sectors() == bytes / 32);
}

}  // namespace

TEST_CASE("vectors of 4, 8 and 16 bytes carry their elements, each in one request") {
  in_each_order([] {
    check_vectors<float, 1>();
    check_vectors<float, 2>();
    check_vectors<float, 4>();
    check_vectors<fa::half, 2>();
    check_vectors<fa::half, 8>();
    check_vectors<fa::bfloat16, 4>();
    check_vectors<double, 2>();
    check_vectors<std::int8_t, 16>();
  });
}

namespace {

__global__ void stride_kernel(fa::hbm<const float> in, fa::hbm<float> out, int stride) {
  fa::Vector<float, 4> vector = fa::load<4>(in + int(threadIdx.x) * stride);
  for (int i = 0; i < 4; ++i) vector[i] = vector[i] + 1.0f;
  fa::store(out + int(threadIdx.x) * 4, vector);
}

Index sectors_read(int stride) {
  const fa::DeviceBuffer<float> in("in", counting_up(32 * stride + 4));
  fa::DeviceBuffer<float> out("out", 128);
  const fa::DeviceMeter meter;
  fa::launch<stride_kernel>({{1}, {32}}, in.data(), out.data(), stride);
  CHECK(out.to_host()[127] == float(31 * stride + 4));
  CHECK(meter.total() == Traffic{512, 512});
  CHECK(meter.written_sectors() == 16);
  return meter.read_sectors();
}

}  // namespace

TEST_CASE("vectors that lie far apart cost a sector each") {
  in_each_order([] {
    CHECK(sectors_read(4) == 16);
    CHECK(sectors_read(8) == 32);
    CHECK(sectors_read(100) == 32);
    CHECK(sectors_read(0) == 1);
  });
}

// ---- Faults

namespace {

enum Place { load_hbm, load_shared, store_hbm, store_shared };

template <int n>
__global__ void one_vector_kernel(fa::hbm<float> memory, int place, int at) {
  __shared__ fa::shared<float, 2, 5> tile;
  for (int e = 0; e < 9; ++e) tile[e / 5][e % 5] = 0.0f;
  const fa::Vector<float, n> vector{};
  if (place == load_hbm) fa::load<n>(memory + at);
  if (place == load_shared) fa::load<n>(&tile[at / 5][at % 5]);
  if (place == store_hbm) fa::store(memory + at, vector);
  if (place == store_shared) fa::store(&tile[at / 5][at % 5], vector);
}

template <int n>
std::string one_vector(int place, int at) {
  fa::DeviceBuffer<float> memory("memory", 10);
  memory.from_host(std::vector<float>(9, 0.0f));
  return fa::simt::fault_of([&] { fa::launch<one_vector_kernel<n>>({{1}, {1}}, memory.data(), place, at); });
}

}  // namespace

TEST_CASE("a vector at an address that is no multiple of its size is reported") {
  for (const int place : {load_hbm, load_shared, store_hbm, store_shared}) {
    CHECK(one_vector<1>(place, 3).empty());
    CHECK(one_vector<2>(place, 2).empty());
    CHECK(one_vector<4>(place, 4).empty());
  }
  CHECK_THAT(one_vector<2>(load_hbm, 3), StartsWith("fa::load at memory[3], which begins at byte 12: must be a "
                                                    "multiple of 8\n  in one_vector_kernel<2>, block (0, 0, 0)"));
  CHECK_THAT(one_vector<4>(store_hbm, 2),
             StartsWith("fa::store at memory[2], which begins at byte 8: must be a multiple of 16"));
  CHECK_THAT(one_vector<4>(load_shared, 6),
             StartsWith("fa::load at tile[1][1], which begins at byte 24: must be a multiple of 16"));
  CHECK_THAT(one_vector<2>(store_shared, 1),
             StartsWith("fa::store at tile[0][1], which begins at byte 4: must be a multiple of 8"));
}

TEST_CASE("a vector past the end is reported, in HBM with the first element outside") {
  CHECK_THAT(one_vector<4>(load_hbm, 8), StartsWith("HBM: read of memory[10], which has 10 elements"));
  CHECK_THAT(one_vector<4>(store_hbm, 8), StartsWith("HBM: write to memory[10], which has 10 elements"));
  CHECK_THAT(one_vector<4>(load_hbm, 12), StartsWith("HBM: read of memory[12], which has 10 elements"));
  CHECK_THAT(one_vector<4>(load_hbm, -4), StartsWith("HBM: read of memory[-4], which has 10 elements"));
  CHECK_THAT(
      one_vector<4>(load_shared, 8),
      StartsWith("shared memory: read of 4 elements of 'tile', the first of them element 8, past its end: it has 10"));
  CHECK_THAT(one_vector<4>(store_shared, 8), StartsWith("shared memory: write to 4 elements of 'tile'"));
}

TEST_CASE("each element of a vector is checked") {
  CHECK_THAT(one_vector<2>(load_hbm, 8), StartsWith("HBM: read of memory[9], which nothing wrote"));
  CHECK_THAT(one_vector<2>(load_shared, 8), StartsWith("shared memory: read of tile[1][4], which nothing wrote\n"));
}

namespace {

__global__ void overlap_kernel(fa::hbm<float> out, bool in_shared) {
  __shared__ fa::shared<float, 8> line;
  const fa::Vector<float, 4> vector{};
  if (threadIdx.x == 0 && in_shared) line[6] = 1.0f;
  if (threadIdx.x == 0 && !in_shared) out[6] = 1.0f;
  if (threadIdx.x == 1 && in_shared) fa::store(&line[4], vector);
  if (threadIdx.x == 1 && !in_shared) fa::store(&out[4], vector);
}

}  // namespace

TEST_CASE("a race about one element of a vector is found") {
  in_each_order([] {
    fa::DeviceBuffer<float> out("out", 8);
    fa::simt::check_fault([&] { fa::launch<overlap_kernel>({{1}, {2}}, out.data(), true); },
                          {"shared memory: line[6] is touched by two threads with no barrier between"});
    fa::simt::check_fault([&] { fa::launch<overlap_kernel>({{1}, {2}}, out.data(), false); },
                          {"HBM: out[6] is touched by two threads with no barrier between"});
  });
}

// ---- Half precision

namespace {

template <class T>
__global__ void widen_kernel(fa::hbm<T> in_and_out, fa::hbm<float> out) {
  __shared__ fa::shared<T, 32> line;
  const int i = int(threadIdx.x);
  line[i] = in_and_out[i];
  out[i] = float(line[i]) + float(in_and_out[i]);
  in_and_out[i] = T(2.0f * float(line[i]));
}

template <class T>
void check_widening() {
  fa::DeviceBuffer<T> numbers("numbers", std::vector<T>(32, T(1.5f)));
  fa::DeviceBuffer<float> out("out", 32);
  fa::launch<widen_kernel<T>>({{1}, {32}}, numbers.data(), out.data());
  CHECK(out.to_host() == std::vector<float>(32, 3.0f));
  CHECK(float(numbers.to_host()[31]) == 3.0f);
}

}  // namespace

TEST_CASE("an element of half precision is a float where one is asked for, in HBM and in shared memory") {
  check_widening<fa::half>();
  check_widening<fa::bfloat16>();
}

// ---- 2^x

TEST_CASE("the fast power of two is exact to 2 units in the last place, and has no subnormal results") {
  for (float x = -125.9f; x < 127.9f; x += 0.37f) {
    const double exact = std::exp2(double(x));
    CHECK(std::abs(double(fa::exp2_fast(x)) - exact) <= 2 * exact * 0x1p-23);
  }
  CHECK(fa::exp2_fast(-126.0f) == 0x1p-126f);
  CHECK(fa::exp2_fast(-126.5f) == 0.0f);
  CHECK(fa::exp2_fast(-INFINITY) == 0.0f);
  CHECK(fa::exp2_fast(INFINITY) == INFINITY);
  CHECK(std::isnan(fa::exp2_fast(NAN)));
}
