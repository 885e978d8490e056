// Shared memory on the emulator: arrays with bounds and names, static and dynamic, and how much of it there is.

#include <cstdint>
#include <tuple>

#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::in_each_order;

// ---- Bounds

__global__ void index_kernel(int rank, fa::Index i, int j, int k) {
  __shared__ fa::shared<float, 5> line;
  __shared__ fa::shared<float, 4, 6> plane;
  __shared__ fa::shared<float, 2, 3, 4> cube;
  if (rank == 1) line[i] = 1.0f;
  if (rank == 2) plane[i][j] = 1.0f;
  if (rank == 3) cube[i][j][k] = 1.0f;
}

__global__ void dynamic_index_kernel(int rank, fa::Index i, int j) {
  fa::DynamicShared memory;
  const fa::SharedArray<float> weight = memory.array<float>("weight", 5);
  const fa::SharedMatrix<float> k_tile = memory.matrix<float>("k_tile", 4, 6);
  if (rank == 1) weight[i] = 1.0f;
  if (rank == 2) k_tile[i][j] = 1.0f;
}

std::string past(fa::Index index, int dimension, const std::string& array, int extent) {
  return "shared memory: index " + std::to_string(index) + " in dimension " + std::to_string(dimension) + " of '" +
         array + "', which has " + std::to_string(extent);
}

}  // namespace

TEST_CASE("an index outside of a shared array names array, dimension, index and extent") {
  const auto run = [](int rank, fa::Index i, int j, int k) {
    return [=] { fa::launch<index_kernel>({{1}, {1}}, rank, i, j, k); };
  };
  for (const bool checks : {true, false}) {
    const fa::simt::With settings({.checks = checks});
    check_fault(run(1, 5, 0, 0), {past(5, 0, "line", 5), "in index_kernel, block (0, 0, 0), thread (0, 0, 0)"});
    check_fault(run(1, -1, 0, 0), {past(-1, 0, "line", 5)});
    check_fault(run(1, fa::Index{1} << 32, 0, 0), {past(fa::Index{1} << 32, 0, "line", 5)});  // 0 in 32 bits
    check_fault(run(2, 4, 0, 0), {past(4, 0, "plane", 4)});
    check_fault(run(2, 0, 6, 0), {past(6, 1, "plane", 6)});  // not the first element of the next row
    check_fault(run(2, 1, -1, 0), {past(-1, 1, "plane", 6)});
    check_fault(run(3, 2, 0, 0), {past(2, 0, "cube", 2)});
    check_fault(run(3, 0, 3, 0), {past(3, 1, "cube", 3)});
    check_fault(run(3, 0, 0, 4), {past(4, 2, "cube", 4)});
    for (int rank = 1; rank <= 3; ++rank) run(rank, 1, 2, 3)();
  }
}

TEST_CASE("the same for dynamic shared memory, by the name that the kernel gave") {
  const auto run = [](int rank, fa::Index i, int j) {
    return [=] {
      fa::launch<dynamic_index_kernel>({{1}, {1}, fa::shared_bytes<float>(5) + fa::shared_bytes<float>(24)}, rank, i,
                                       j);
    };
  };
  check_fault(run(1, 5, 0), {past(5, 0, "weight", 5), "in dynamic_index_kernel, block (0, 0, 0), thread (0, 0, 0)"});
  check_fault(run(2, 4, 0), {past(4, 0, "k_tile", 4)});
  check_fault(run(2, fa::Index{1} << 32, 0), {past(fa::Index{1} << 32, 0, "k_tile", 4)});
  check_fault(run(2, 3, 6), {past(6, 1, "k_tile", 6)});
  run(1, 4, 0)();
  run(2, 3, 5)();
}

namespace {

__global__ void unwritten_element_kernel(int i, int j, int k) {
  __shared__ fa::shared<float, 2, 3, 4> cube;
  fa::DynamicShared memory;
  const fa::SharedMatrix<float> k_tile = memory.matrix<float>("k_tile", 4, 6);
  if (k >= 0 && cube[i][j][k] < 0.0f) return;
  if (k < 0 && k_tile[i][j] < 0.0f) return;
}

}  // namespace

TEST_CASE("an element is named by its indices, in one to three dimensions") {
  const fa::Index bytes = fa::shared_bytes<float>(24);
  for (const auto& [i, j, k] : {std::tuple{0, 0, 0}, {1, 0, 2}, {0, 2, 1}, {1, 2, 3}}) {
    const std::string name =
        "cube[" + std::to_string(i) + "][" + std::to_string(j) + "][" + std::to_string(k) + "], which nothing wrote";
    check_fault([&] { fa::launch<unwritten_element_kernel>({{1}, {1}, bytes}, i, j, k); }, {name});
  }
  check_fault([&] { fa::launch<unwritten_element_kernel>({{1}, {1}, bytes}, 3, 1, -1); }, {"read of k_tile[3][1], "});
}

// ---- Names of static arrays are read from their declaration

namespace {

constexpr int D = 7;

__global__ void names_kernel(int which) {
  __shared__ fa::shared<float, 4> q_tile, k_tile;  // two in a line
  __shared__ fa::shared<float, (D > 3 ? D : 3), D + 1> v_tile;
  __shared__ fa::shared<float,  //
                        3>
      far_away;
  if (which == 0) q_tile[4] = 0.0f;
  if (which == 1) k_tile[4] = 0.0f;
  if (which == 2) v_tile[D][0] = 0.0f;
  if (which == 3) far_away[3] = 0.0f;
}

template <int Count>
__global__ void template_kernel() {
  __shared__ fa::shared<float, Count> line;
  line[Count] = 0.0f;
}

__global__ void undealt_kernel() {
  const fa::SharedMatrix<float> nothing;
  nothing[0][0] = 1.0f;
}

}  // namespace

TEST_CASE("a static array is called what its declaration says") {
  for (int round = 0; round < 2; ++round) {
    const auto run = [](int which) { return [=] { fa::launch<names_kernel>({{1}, {1}}, which); }; };
    check_fault(run(0), {"of 'q_tile', which has 4"});
    check_fault(run(1), {"of 'k_tile', which has 4"});
    check_fault(run(2), {"of 'v_tile', which has 7"});
    check_fault(run(3), {"of 'the shared array of test_simt_shared.cpp:"});
    check_fault([] { fa::launch<template_kernel<5>>({{1}, {1}}); }, {"of 'line', which has 5", "template_kernel"});
    check_fault([] { fa::launch<template_kernel<9>>({{1}, {1}}); }, {"of 'line', which has 9", "template_kernel"});
  }
}

TEST_CASE("an array that nobody dealt out is reported") {
  check_fault([] { fa::launch<undealt_kernel>({{1}, {1}}); },
              {"shared memory: index 0 of an array that no memory was dealt out for", "undealt_kernel"});
}

// ---- Elements

namespace {

__global__ void arithmetic_kernel(fa::hbm<float> out) {
  __shared__ fa::shared<float, 2, 2> tile;
  tile[0][0] = tile[0][1] = 3.0f;
  tile[1][0] = tile[0][0];
  tile[1][0] += 2.0f;
  tile[1][0] -= 1.0f;
  tile[1][0] *= 6.0f;
  tile[1][0] /= 4.0f;
  tile[1][1] = tile[1][0] * tile[0][0] + max(tile[0][1], 1.0f) + fminf(tile[0][1], 1.0f);
  const fa::SharedArray<float> row = tile[1];
  out[0] = row[0];
  out[1] = row[1];
  out[2] = min(tile[0][0], tile[1][0]);
  out[3] = max(-INFINITY, NAN) + max(NAN, 1.0f) + min(NAN, 1.0f);
}

template <class T>
__global__ void type_kernel(fa::hbm<const T> in, fa::hbm<T> out) {
  __shared__ fa::shared<T, 64> line;
  fa::DynamicShared memory;
  const auto bytes = memory.array<char>("bytes", 3);
  const auto copy = memory.array<T>("copy", 64);
  const int me = int(threadIdx.x);
  if (me < 3) bytes[me] = char(me);
  line[me] = in[me];
  __syncthreads();
  copy[me] = line[63 - me];
  __syncthreads();
  out[me] = T(copy[63 - me]) + T(bytes[2] - 2);
}

template <class T>
void check_type() {
  const fa::DeviceBuffer<T> in("in", counting_up<T>(64));
  fa::DeviceBuffer<T> out("out", 64);
  fa::launch<type_kernel<T>>({{2}, {64}, 16 + fa::shared_bytes<T>(64)}, in.data(), out.data());
}

}  // namespace

TEST_CASE("elements of shared memory are used like variables") {
  fa::DeviceBuffer<float> out("out", 4);
  fa::launch<arithmetic_kernel>({{1}, {1}}, out.data());
  CHECK(out.to_host() == std::vector<float>{6, 22, 3, -std::numeric_limits<float>::infinity() + 2});
}

TEST_CASE("shared memory holds elements of every type, at aligned addresses") {
  const fa::simt::With settings({.checks = false});  // two blocks write the same
  check_type<float>();
  check_type<double>();
  check_type<std::int8_t>();
  check_type<std::int16_t>();
  check_type<std::int64_t>();
}

// ---- How much there is

namespace {

__global__ void static_kernel(int touched) {
  __shared__ fa::shared<float, 10'000> large;
  __shared__ fa::shared<float, 2288> rest;  // 49152 bytes with `large`
  __shared__ fa::shared<float, 1> more;
  large[0] = 1.0f;
  rest[0] = 1.0f;
  if (touched > 2) more[0] = 1.0f;
}

__global__ void deal_kernel(int elements, int elements_of_thread_1) {
  fa::DynamicShared memory;
  memory.array<float>("first", 5);  // 20 bytes, so the next one begins at 32
  memory.array<float>("second", threadIdx.x == 1 ? elements_of_thread_1 : elements);
}

}  // namespace

TEST_CASE("static shared memory past 48 KiB is reported, as nvcc does") {
  fa::launch<static_kernel>({{2}, {1}}, 2);
  check_fault([] { fa::launch<static_kernel>({{2}, {1}}, 3); },
              {"static shared memory: 49156 bytes with 'more': at most 49152", "static_kernel"});
}

TEST_CASE("static and dynamic shared memory have one limit") {
  fa::simt::Settings small;
  small.shared_bytes_per_block = 50'000;
  const fa::simt::With settings(small);
  fa::launch<static_kernel>({{1}, {1}, 848}, 2);
  check_fault([] { fa::launch<static_kernel>({{1}, {1}, 849}, 2); },
              {"shared memory: 50001 bytes, static and dynamic: at most 50000", "static_kernel"});
}

TEST_CASE("dynamic shared memory past what the launch asked for is reported with both sizes") {
  fa::launch<deal_kernel>({{2}, {2}, 64}, 8, 8);
  check_fault([] { fa::launch<deal_kernel>({{1}, {2}, 63}, 8, 8); },
              {"dynamic shared memory: 'second' needs bytes 32 to 64, but the launch asked for 63", "in deal_kernel"});
  check_fault([] { fa::launch<deal_kernel>({{1}, {2}, 10}, 8, 8); }, {"'first' needs bytes 0 to 20"});
  check_fault([] { fa::launch<deal_kernel>({{1}, {2}, 64}, -1, -1); }, {"'second' has a negative size"});
  fa::launch<deal_kernel>({{1}, {2}, 32}, 0, 0);
}

namespace {

enum Deal { same, other_name, other_type, other_shape, other_count, negative_rows, negative_columns };

__global__ void deal_a_matrix_kernel(Deal deal_of_thread_1) {
  const Deal deal = threadIdx.x == 1 ? deal_of_thread_1 : same;
  fa::DynamicShared memory;
  if (deal == same) memory.matrix<float>("tile", 2, 4);
  if (deal == other_name) memory.matrix<float>("time", 2, 4);
  if (deal == other_type) memory.matrix<double>("tile", 2, 4);
  if (deal == other_shape) memory.matrix<float>("tile", 4, 2);
  if (deal == other_count) memory.matrix<float>("tile", 2, 3);
  if (deal == negative_rows) memory.matrix<float>("tile", -2, 4);
  if (deal == negative_columns) memory.matrix<float>("tile", 2, -4);
}

}  // namespace

TEST_CASE("threads that deal out dynamic shared memory differently are reported") {
  in_each_order([] {
    const auto run = [](Deal deal) { return [=] { fa::launch<deal_a_matrix_kernel>({{1}, {2}, 64}, deal); }; };
    run(same)();
    for (const Deal deal : {other_name, other_type, other_shape, other_count}) {
      check_fault(run(deal), {"dynamic shared memory: threads of a block deal it out differently, at 't"});
    }
    for (const Deal deal : {negative_rows, negative_columns}) check_fault(run(deal), {"'tile' has a negative size"});
    check_fault([] { fa::launch<deal_kernel>({{1}, {3}, 128}, 8, 7); },
                {"dynamic shared memory: threads of a block deal it out differently, at 'second'", "in deal_kernel"});
  });
}

// ---- Launch after launch

namespace {

__global__ void grow_kernel(fa::hbm<int> out, int rows) {
  fa::DynamicShared memory;
  const auto tile = memory.matrix<int>("tile", rows, 8);
  for (int e = int(threadIdx.x); e < rows * 8; e += 32) tile[e / 8][e % 8] = e;
  __syncthreads();
  if (threadIdx.x == 0) out[int(blockIdx.x)] = tile[rows - 1][7];
}

}  // namespace

TEST_CASE("dynamic shared memory may grow and shrink from launch to launch") {
  for (const int rows : {1, 900, 3, 500, 1000}) {
    fa::DeviceBuffer<int> out("out", 3);
    fa::launch<grow_kernel>({{3}, {32}, fa::shared_bytes<int>(rows * 8)}, out.data(), rows);
    CHECK(out.to_host() == std::vector<int>(3, rows * 8 - 1));
  }
}
