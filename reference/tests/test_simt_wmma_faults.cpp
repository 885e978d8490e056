// nvcuda::wmma on the emulator: what it reports.

#include <utility>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

namespace wmma = nvcuda::wmma;
using fa::simt::check_fault;
using fa::simt::in_each_order;

template <class T, class Layout>
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, Layout>;
template <class T, class Layout>
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, Layout>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

enum Mistake {
  none,
  lane_stays_away,
  other_place_in_code,
  other_address,
  other_ld,
  other_layout,
  bad_ld,
  bad_ld_of_floats,
  bad_address,
  sums_unset,
  factor_unset,
  stored_unset,
  past_the_end,
  past_the_end_of_shared
};

__global__ void mistake_kernel(fa::hbm<const fa::half> in, fa::hbm<float> out, int mistake) {
  __shared__ fa::shared<fa::half, 17, 24> tile;
  for (int e = int(threadIdx.x); e < 17 * 24; e += int(blockDim.x)) tile[e / 24][e % 24] = fa::half(1.0f);
  __syncthreads();
  const bool odd_one = threadIdx.x == 7;
  A<fa::half, wmma::row_major> a, unset;
  B<fa::half, wmma::col_major> b;
  Sums sums, unset_sums;
  wmma::fill_fragment(b, fa::half(1.0f));
  wmma::fill_fragment(sums, 0.0f);
  if (mistake == lane_stays_away && odd_one) return;
  if (mistake == other_place_in_code && odd_one) wmma::load_matrix_sync(a, &tile[0][0], 24);
  if (mistake == other_address && odd_one) out = out + 8;
  const unsigned ld = mistake == other_ld && odd_one ? 32 : mistake == bad_ld ? 20 : 24;
  const int row = mistake == past_the_end_of_shared ? 4 : 0, column = mistake == bad_address ? 8 : 0;
  if (mistake == past_the_end) in = in + 160;
  if (mistake == past_the_end) wmma::load_matrix_sync(a, in, 16);
  wmma::load_matrix_sync(a, &tile[row][column], ld);
  wmma::mma_sync(sums, mistake == factor_unset ? unset : a, b, mistake == sums_unset ? unset_sums : sums);
  const auto layout = mistake == other_layout && odd_one ? wmma::mem_col_major : wmma::mem_row_major;
  wmma::store_matrix_sync(out, mistake == stored_unset ? unset_sums : sums, mistake == bad_ld_of_floats ? 18 : 16,
                          layout);
}
constexpr int kLoadLine = __LINE__ - 6;

std::string at_line(int line) { return "  at test_simt_wmma_faults.cpp:" + std::to_string(line); }

void check_mistake(int mistake, std::initializer_list<std::string> texts, int threads = 32) {
  in_each_order([&] {
    const fa::DeviceBuffer<fa::half> in("in", std::vector<fa::half>(256, fa::half(1.0f)));
    fa::DeviceBuffer<float> out("out", 512);
    check_fault([&] { fa::launch<mistake_kernel>({{1}, {threads}}, in.data(), out.data(), mistake); }, texts);
  });
}

}  // namespace

TEST_CASE("a warp that loads, multiplies and stores as it should is not stopped") {
  const fa::DeviceBuffer<fa::half> in("in", std::vector<fa::half>(256, fa::half(1.0f)));
  fa::DeviceBuffer<float> out("out", 512);
  fa::launch<mistake_kernel>({{1}, {32}}, in.data(), out.data(), int(none));
  CHECK(out.to_host(0, 256) == std::vector<float>(256, 16.0f));
}

TEST_CASE("a matrix operation that not all lanes of the warp reach is reported") {
  check_mistake(lane_stays_away, {"load_matrix_sync that not all lanes of its mask reach\n  in mistake_kernel",
                                  "waits at load_matrix_sync at test_simt_wmma_faults.cpp:" + std::to_string(kLoadLine),
                                  "thread (7, 0, 0) has come to the end of the kernel"});
  check_mistake(other_place_in_code, {"load_matrix_sync that not all lanes of its mask reach",
                                      "thread (7, 0, 0) waits at load_matrix_sync"});
  check_mistake(
      none, {"load_matrix_sync by a warp of 16 threads: it takes all 32\n  in mistake_kernel", at_line(kLoadLine)}, 48);
}

TEST_CASE("lanes of a warp that name different matrices are reported with both") {
  check_mistake(other_address, {"store_matrix_sync, at which the lanes of a warp name different places\n"
                                "  in mistake_kernel, block (0, 0, 0), thread (7, 0, 0)\n"
                                "  thread (0, 0, 0): out[0], ld = 16\n"
                                "  thread (7, 0, 0): out[8], ld = 16\n" +
                                at_line(kLoadLine + 3)});
  check_mistake(other_ld, {"load_matrix_sync, at which the lanes of a warp name different places",
                           "  thread (0, 0, 0): tile[0][0], ld = 24\n  thread (7, 0, 0): tile[0][0], ld = 32\n"});
  check_mistake(other_layout, {"  thread (0, 0, 0): out[0], ld = 16\n"
                               "  thread (7, 0, 0): out[0], ld = 16, column by column\n"});
}

TEST_CASE("an address or a distance of rows that CUDA does not allow is reported") {
  check_mistake(bad_ld, {"load_matrix_sync with ld = 20: must be a multiple of 8, which are 16 bytes\n"
                         "  in mistake_kernel, block (0, 0, 0), thread (0, 0, 0)\n"
                         "  in load_matrix_sync at test_simt_wmma_faults.cpp:" +
                         std::to_string(kLoadLine)});
  check_mistake(bad_ld_of_floats, {"store_matrix_sync with ld = 18: must be a multiple of 4, which are 16 bytes"});
  check_mistake(
      bad_address,
      {"load_matrix_sync at tile[0][8], which begins at byte 16: must be a multiple of 32\n  in mistake_kernel"});
}

TEST_CASE("a fragment that nothing has set is reported") {
  for (const int mistake : {int(sums_unset), int(factor_unset)}) {
    check_mistake(mistake, {"mma_sync with a fragment that nothing has set\n  in mistake_kernel",
                            at_line(kLoadLine + 1) + "; fill_fragment, load_matrix_sync and mma_sync set one"});
  }
  check_mistake(stored_unset, {"store_matrix_sync with a fragment that nothing has set"});
}

TEST_CASE("a matrix past the end of its memory is reported") {
  check_mistake(past_the_end, {"HBM: read of in[408], which has 256 elements"});
  check_mistake(past_the_end_of_shared,
                {"shared memory: read of 8 elements of 'tile', the first of them element 464, "
                 "past its end: it has 408",
                 "\n  in load_matrix_sync at test_simt_wmma_faults.cpp:" + std::to_string(kLoadLine)});
}

namespace {

enum Omission { nothing, barrier_before_load, barrier_after_load, barrier_before_store, barrier_after_store };

// A warp writes a tile, loads it, overwrites it; stores sums to another tile, and reads that.
__global__ void ordered_kernel(fa::hbm<float> out, int omitted) {
  __shared__ fa::shared<fa::half, 16, 16> tile;
  __shared__ fa::shared<float, 16, 16> sums_tile;
  const int lane = int(threadIdx.x);
  for (int e = lane; e < 256; e += 32) tile[e / 16][e % 16] = fa::half(1.0f), sums_tile[e / 16][e % 16] = 0.0f;
  if (omitted != barrier_before_load) __syncwarp();
  A<fa::half, wmma::row_major> a;
  B<fa::half, wmma::row_major> b;
  Sums sums;
  wmma::load_matrix_sync(a, &tile[0][0], 16);
  wmma::load_matrix_sync(b, &tile[0][0], 16);
  if (omitted != barrier_after_load) __syncwarp();
  for (int e = lane; e < 256; e += 32) tile[e / 16][e % 16] = fa::half(0.0f);
  wmma::fill_fragment(sums, 0.0f);
  wmma::mma_sync(sums, a, b, sums);
  if (omitted == barrier_before_store && lane == 0) out[0] = sums_tile[0][0];
  wmma::store_matrix_sync(&sums_tile[0][0], sums, 16, wmma::mem_row_major);
  if (omitted != barrier_after_store) __syncwarp();
  out[lane] = sums_tile[lane / 16][lane % 16];
}

}  // namespace

TEST_CASE("loads and stores of matrices order no memory: a warp needs __syncwarp around them") {
  in_each_order([] {
    fa::DeviceBuffer<float> out("out", 32);
    fa::launch<ordered_kernel>({{1}, {32}}, out.data(), int(nothing));
    CHECK(out.to_host() == std::vector<float>(32, 16.0f));
    for (const auto& [omitted, array] :
         {std::pair{int(barrier_before_load), "tile"}, std::pair{int(barrier_after_load), "tile"},
          std::pair{int(barrier_before_store), "sums_tile"}, std::pair{int(barrier_after_store), "sums_tile"}}) {
      check_fault(
          [&] { fa::launch<ordered_kernel>({{1}, {32}}, out.data(), omitted); },
          {std::string("shared memory: ") + array + '[', "] is touched by two threads with no barrier between"});
    }
  });
}
