// Bank conflicts of shared memory, as the emulator counts them: kernels whose passes can be worked out by hand.

#include <stdexcept>
#include <string>

#include "fa/half.h"
#include "simt_support.h"

namespace {

using fa::BankCount;
using fa::Index;
using fa::simt::in_each_order;

// Each thread stores one element, and loads one, `stride` from that of its neighbor.
template <class T>
__global__ void stride_kernel(fa::hbm<T> out, int stride, int elements) {
  fa::DynamicShared memory;
  memory.array<int>("before", 1);
  const auto line = memory.array<T>("line", elements);
  const auto filled = memory.array<T>("filled", elements);
  const int me = int(threadIdx.x);
  for (int e = me; e < elements; e += int(blockDim.x)) filled[e] = T{};
  __syncthreads();
  if (stride > 0) line[me * stride] = T{};
  out[me] = filled[me * stride];
}

// What its loads take, and its stores, if any, too.
template <class T>
BankCount of_stride(int threads, int stride) {
  const int elements = threads * stride + 1;
  fa::DeviceBuffer<T> out("out", threads);
  const Index bytes = fa::shared_bytes<int>(1) + 2 * fa::shared_bytes<T>(elements);
  const fa::DeviceMeter meter(fa::Count::banks);
  fa::launch<stride_kernel<T>>({{1}, {threads}, bytes}, out.data(), stride, elements);
  const fa::SharedTraffic line = meter.shared_of("line"), filled = meter.shared_of("filled");
  CHECK(line.loads == BankCount{});
  if (stride > 0) CHECK(line.stores == filled.loads);
  return filled.loads;
}

struct Three {
  float x, y, z;
};

}  // namespace

TEST_CASE("banks: 32 floats in a row come in one pass; floats of one bank come one by one") {
  in_each_order([] {
    CHECK(of_stride<float>(32, 1) == BankCount{1, 1, 0});
    CHECK(of_stride<float>(32, 2) == BankCount{1, 2, 1});  // lanes 0 and 16 want bank 0
    CHECK(of_stride<float>(32, 3) == BankCount{1, 1, 0});
    CHECK(of_stride<float>(32, 4) == BankCount{1, 4, 3});
    CHECK(of_stride<float>(32, 24) == BankCount{1, 8, 7});
    CHECK(of_stride<float>(32, 32) == BankCount{1, 32, 31});
    CHECK(of_stride<float>(32, 33) == BankCount{1, 1, 0});
  });
}

TEST_CASE("banks: each warp has instructions of its own, and one that is not full may be lucky") {
  CHECK(of_stride<float>(96, 32) == BankCount{3, 96, 93});
  CHECK(of_stride<float>(16, 2) == BankCount{1, 1, 0});
  CHECK(of_stride<float>(33, 32) == BankCount{2, 33, 31});
  CHECK(of_stride<float>(1, 5) == BankCount{1, 1, 0});
}

TEST_CASE("banks: lanes that want one word get it in one pass") {
  in_each_order([] {
    CHECK(of_stride<float>(32, 0) == BankCount{1, 1, 0});
    CHECK(of_stride<double>(32, 0) == BankCount{1, 2, 0});
  });
}

TEST_CASE("banks: numbers of 16 bits that are neighbors share a word") {
  CHECK(of_stride<fa::half>(32, 1) == BankCount{1, 1, 0});
  CHECK(of_stride<fa::half>(32, 2) == BankCount{1, 1, 0});
  CHECK(of_stride<fa::half>(32, 4) == BankCount{1, 2, 1});
  CHECK(of_stride<fa::bfloat16>(32, 64) == BankCount{1, 32, 31});
  CHECK(of_stride<fa::bfloat16>(32, 65) == BankCount{1, 2, 1});  // 32.5 words: lanes 0 and 1 want banks 0 and 0
  CHECK(of_stride<fa::bfloat16>(32, 66) == BankCount{1, 1, 0});
  CHECK(of_stride<char>(32, 1) == BankCount{1, 1, 0});
}

TEST_CASE("banks: 8 bytes a lane take a pass for each half-warp") {
  CHECK(of_stride<double>(32, 1) == BankCount{1, 2, 0});
  CHECK(of_stride<double>(16, 1) == BankCount{1, 1, 0});
  CHECK(of_stride<double>(32, 2) == BankCount{1, 4, 2});
  CHECK(of_stride<double>(32, 16) == BankCount{1, 32, 30});
  CHECK(of_stride<double>(32, 17) == BankCount{1, 2, 0});
}

TEST_CASE("banks: what no instruction moves at once takes one for each word") {
  CHECK(of_stride<Three>(32, 1) == BankCount{3, 3, 0});  // word 3 · lane + 0, 1, 2: 3 and 32 have no common factor
}

// ---- Static arrays; instruction by instruction

namespace {

// Fills a tile row by row, then sums up its columns: with C columns, the lanes of a warp walk down C apart.
template <int C>
__global__ void column_sums_kernel(fa::hbm<float> out) {
  __shared__ fa::shared<float, 32, C> tile;
  const int lane = int(threadIdx.x);
  for (int row = 0; row < 32; ++row) tile[row][lane] = 1.0f;
  __syncthreads();
  float of_row = 0.0f, of_column = 0.0f;
  for (int i = 0; i < 32; ++i) {
    of_row += tile[lane][i];
    of_column += tile[i][lane];
  }
  out[lane] = of_row + of_column;
}

template <int C>
fa::SharedTraffic of_column_sums() {
  fa::DeviceBuffer<float> out("out", 32);
  const fa::DeviceMeter meter(fa::Count::banks);
  fa::launch<column_sums_kernel<C>>({{1}, {32}}, out.data());
  return meter.shared_of("tile");
}

// A tile of S = Q Kᵀ as lesson 06 computes it, and of P V: with padding columns or without.
__global__ void products_kernel(fa::hbm<float> out, int D, int padding) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", 32, D + padding);
  const auto k_tile = memory.matrix<float>("k_tile", 32, D + padding);
  const int row = int(threadIdx.x) / 32, col = int(threadIdx.x) % 32;
  for (int e = int(threadIdx.x); e < 32 * D; e += int(blockDim.x)) {
    q_tile[e / D][e % D] = 1.0f;
    k_tile[e / D][e % D] = 1.0f;
  }
  __syncthreads();
  float dot = 0.0f;
  for (int d = 0; d < D; ++d) dot += q_tile[row][d] * k_tile[col][d];
  out[int(threadIdx.x)] = dot;
}

}  // namespace

TEST_CASE("banks: down a column of (32, 32) all lanes want one bank, of (32, 33) each wants its own") {
  in_each_order([] {
    const fa::SharedTraffic plain = of_column_sums<32>(), padded = of_column_sums<33>();
    CHECK(plain.stores == BankCount{32, 32, 0});
    CHECK(padded.stores == BankCount{32, 32, 0});
    CHECK(plain.loads == BankCount{64, 32 * 32 + 32, 32 * 31});
    CHECK(padded.loads == BankCount{64, 64, 0});
  });
}

TEST_CASE("banks: a column of padding frees the product of tiles from conflicts") {
  const int D = 64;
  for (const int padding : {0, 1}) {
    fa::DeviceBuffer<float> out("out", 256);
    const fa::DeviceMeter meter(fa::Count::banks);
    const Index bytes = 2 * fa::shared_bytes<float>(32 * (D + padding));
    fa::launch<products_kernel>({{1}, {256}, bytes}, out.data(), D, padding);
    const Index requests = 8 * D;  // 8 warps, each with a row of q and 32 rows of k
    CHECK(meter.shared_of("q_tile").loads == BankCount{requests, requests, 0});
    const Index passes = padding == 0 ? 32 * requests : requests;
    CHECK(meter.shared_of("k_tile").loads == BankCount{requests, passes, passes - requests});
    CHECK(meter.shared_total().stores.conflicts == 0);
  }
}

namespace {

// Thread 0 stores one element more than the others; then all store a row.
__global__ void uneven_kernel(bool barrier) {
  __shared__ fa::shared<float, 64> line;
  const int me = int(threadIdx.x);
  if (me == 0) line[33] = 1.0f;
  if (barrier) __syncwarp();
  line[me] = 1.0f;
}

__global__ void atomic_kernel() {
  __shared__ fa::shared<int, 32> counters;
  counters[int(threadIdx.x)] = 0;
  __syncthreads();
  atomicAdd(&counters[0], 1);
}

// Two arrays, the second under another name in block 1.
__global__ void names_kernel() {
  fa::DynamicShared memory;
  const auto first = memory.array<float>("first", 32);
  const auto second = memory.array<float>(blockIdx.x == 0 ? "second" : "other", 64);
  const int me = int(threadIdx.x);
  first[me] = 1.0f;
  second[me * 2] = first[me];
}

}  // namespace

TEST_CASE("banks: a barrier of the warp, too, sets its lanes even") {
  const auto stores = [](bool barrier) {
    const fa::DeviceMeter meter(fa::Count::banks);
    fa::launch<uneven_kernel>({{1}, {32}}, barrier);
    return meter.shared_of("line").stores;
  };
  CHECK(stores(true) == BankCount{2, 2, 0});
  CHECK(stores(false) == BankCount{2, 3, 1});  // inexact, as counting.h says: words 33 and 1 look like one instruction
}

TEST_CASE("banks: atomic operations are not counted") {
  const fa::DeviceMeter meter(fa::Count::banks);
  fa::launch<atomic_kernel>({{1}, {32}});
  CHECK(meter.shared_total().loads == BankCount{});
  CHECK(meter.shared_total().stores == BankCount{1, 1, 0});
}

TEST_CASE("banks: counts are told by array, by launch and in total, on one core or on several") {
  for (const int workers : {1, 3}) {
    const fa::simt::With settings(fa::simt::with_workers(workers));
    const fa::DeviceMeter meter(fa::Count::banks);
    const auto run = [](Index blocks) {
      fa::launch<names_kernel>({{blocks}, {64}, fa::shared_bytes<float>(32 + 64) * 2});
    };
    CHECK_THROWS_AS(run(1), fa::KernelFault);  // 64 threads, 32 elements
    fa::launch<names_kernel>({{2}, {32}, fa::shared_bytes<float>(32) + fa::shared_bytes<float>(64)});
    fa::launch<names_kernel>({{1}, {32}, fa::shared_bytes<float>(32) + fa::shared_bytes<float>(64)});

    const auto& launches = meter.launches();
    REQUIRE(launches.size() == 3);
    REQUIRE(launches[1].by_array.size() == 3);
    CHECK(launches[1].by_array[0].array == "first");
    CHECK(launches[1].by_array[0].loads == BankCount{2, 2, 0});
    CHECK(launches[1].by_array[1].array == "other");
    CHECK(launches[1].by_array[1].stores == BankCount{1, 2, 1});
    CHECK(launches[1].by_array[2].array == "second");
    CHECK(launches[2].by_array.size() == 2);
    CHECK(meter.shared_of("other").stores == BankCount{1, 2, 1});
    CHECK(meter.shared_of("third").stores == BankCount{});
    CHECK(meter.shared_of("third").array == "third");
  }
}

// ---- When they are counted

TEST_CASE("banks: without a meter that asks for it, nothing is counted, and who asks later is told so") {
  const fa::DeviceMeter plain;
  fa::launch<uneven_kernel>({{1}, {32}}, true);
  CHECK(plain.launches()[0].by_array.empty());
  CHECK_THROWS_AS(plain.by_array(), std::logic_error);
  CHECK_THROWS_AS(plain.shared_of("line"), std::logic_error);
  CHECK_THROWS_MATCHES(plain.shared_total(), std::logic_error,
                       Catch::Matchers::MessageMatches(
                           Catch::Matchers::ContainsSubstring("uneven_kernel ran without a count of bank conflicts")));
}

TEST_CASE("banks: where one meter asks, or the environment does, all meters are told") {
  const auto stores = [] {
    const fa::DeviceMeter meter;
    fa::launch<uneven_kernel>({{1}, {32}}, true);
    return meter.shared_total().stores;
  };
  {
    const fa::DeviceMeter asks(fa::Count::banks);
    CHECK(stores() == BankCount{2, 2, 0});
    CHECK(asks.shared_total().stores == BankCount{2, 2, 0});
  }
  CHECK_THROWS_AS(stores(), std::logic_error);
  fa::simt::Settings settings;
  settings.banks = true;
  const fa::simt::With with(settings);
  CHECK(stores() == BankCount{2, 2, 0});
}

TEST_CASE("banks: they are counted without checks, too; then memory that nothing wrote is not looked for") {
  const fa::simt::With settings({.checks = false});
  CHECK(of_stride<float>(32, 2) == BankCount{1, 2, 1});
  const fa::SharedTraffic tile = of_column_sums<32>();
  CHECK(tile.loads == BankCount{64, 32 * 32 + 32, 32 * 31});
}
