// fa::mma on the emulator: which lane holds what, products, and what is reported.

#include <algorithm>
#include <random>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

namespace mma = fa::mma;
using fa::simt::check_fault;
using fa::simt::in_each_order;

// What the registers of each lane hold after a load from a tile whose element (r, c) is the number 32 r + c. The part
// begins at (row, col).
enum Load { load_a, load_columns, load_rows };

template <class T>
__global__ void load_kernel(fa::hbm<unsigned> out, int load, int row, int col) {
  fa::DynamicShared memory;
  const auto tile = memory.matrix<T>("tile", 32, 40);
  const int lane = int(threadIdx.x);
  for (int e = lane; e < 32 * 32; e += 32) tile[e / 32][e % 32] = T(float(e / 32 * 32 + e % 32));
  __syncwarp();
  mma::A<T> a{};
  mma::B<T> b[2] = {};
  if (load == load_a) mma::load(a, tile, row, col);
  if (load == load_columns) mma::load_columns(b, tile, row, col);
  if (load == load_rows) mma::load_rows(b, tile, row, col);
  for (int i = 0; i < 4; ++i) out[4 * lane + i] = load == load_a ? a.pair[i] : b[i / 2].pair[i % 2];
}

// As fa/tensor_core.h says.
template <class T>
std::vector<unsigned> registers(int load, int row, int col) {
  const auto number = [&](int r, int c) { return float(32 * (row + r) + col + c); };
  std::vector<unsigned> result;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int b = i / 2, k = 2 * t + i % 2 * 8;  // of b[b]: B's rows k and k + 1, column g
      if (load == load_a) {
        const int r = g + i % 2 * 8, c = 2 * t + i / 2 * 8;
        result.push_back(mma::pack<T>(number(r, c), number(r, c + 1)));
      } else if (load == load_columns) {
        result.push_back(mma::pack<T>(number(8 * b + g, k), number(8 * b + g, k + 1)));
      } else {
        result.push_back(mma::pack<T>(number(k, 8 * b + g), number(k + 1, 8 * b + g)));
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("two numbers in a register are rounded, the first in the low half") {
  CHECK(mma::pack<fa::half>(1.0f, -2.0f) == 0xc000'3c00);
  CHECK(mma::pack<fa::bfloat16>(1.0f, -2.0f) == 0xc000'3f80);
  CHECK(mma::pack<fa::half>(1.0f + 0x1p-12f, 70000.0f) == 0x7c00'3c00);
  CHECK(mma::pack<fa::half>(1.0f + 0x1.8p-10f, 0.0f) == 0x0000'3c02);  // ties to even
}

TEST_CASE("loads deal out a tile as the instructions of a GPU do") {
  in_each_order([] {
    for (const int load : {load_a, load_columns, load_rows}) {
      for (const auto& [row, col] : {std::pair{0, 0}, std::pair{16, 16}, std::pair{5, 8}}) {
        INFO("load " << load << " from row " << row << ", column " << col);
        fa::DeviceBuffer<unsigned> out("out", 128);
        fa::launch<load_kernel<fa::half>>({{1}, {32}, fa::shared_bytes<fa::half>(32 * 40)}, out.data(), load, row, col);
        CHECK(out.to_host() == registers<fa::half>(load, row, col));
      }
    }
  });
  fa::DeviceBuffer<unsigned> out("out", 128);
  fa::launch<load_kernel<fa::bfloat16>>({{1}, {32}, fa::shared_bytes<fa::bfloat16>(32 * 40)}, out.data(),
                                        int(load_rows), 3, 8);
  CHECK(out.to_host() == registers<fa::bfloat16>(load_rows, 3, 8));
}

namespace {

// d = a b' + c by columns (b given as its transpose) and a b + c by rows. All (16, 16); d (2, 16, 16).
template <class T>
__global__ void multiply_kernel(fa::hbm<const T> a, fa::hbm<const T> b, fa::hbm<const float> c, fa::hbm<float> d) {
  fa::DynamicShared memory;
  const auto a_tile = memory.matrix<T>("a_tile", 16, 24), b_tile = memory.matrix<T>("b_tile", 16, 24);
  const int lane = int(threadIdx.x), g = lane / 4, t = lane % 4;
  for (int e = lane; e < 256; e += 32) a_tile[e / 16][e % 16] = a[e], b_tile[e / 16][e % 16] = b[e];
  __syncwarp();
  mma::A<T> a_part;
  mma::load(a_part, a_tile, 0, 0);
  for (int way = 0; way < 2; ++way) {
    mma::B<T> b_part[2];
    if (way == 0) mma::load_columns(b_part, b_tile, 0, 0);
    if (way == 1) mma::load_rows(b_part, b_tile, 0, 0);
    for (int half = 0; half < 2; ++half) {
      mma::Accumulator sums;
      for (int i = 0; i < 4; ++i) sums.x[i] = c[(g + i / 2 * 8) * 16 + 8 * half + 2 * t + i % 2];
      mma::multiply(sums, a_part, b_part[half]);
      for (int i = 0; i < 4; ++i) d[way * 256 + (g + i / 2 * 8) * 16 + 8 * half + 2 * t + i % 2] = sums.x[i];
    }
  }
}

template <class T>
void check_products() {
  std::mt19937 random(1);
  std::vector<T> a(256), b(256);
  std::vector<float> c(256);
  for (std::size_t e = 0; e < 256; ++e) {
    a[e] = T(float(int(random() % 17) - 8));
    b[e] = T(float(int(random() % 17) - 8));
    c[e] = float(int(random() % 17) - 8);
  }
  const fa::DeviceBuffer<T> device_a("a", a), device_b("b", b);
  const fa::DeviceBuffer<float> device_c("c", c);
  fa::DeviceBuffer<float> d("d", 512);
  fa::launch<multiply_kernel<T>>({{1}, {32}, 2 * fa::shared_bytes<T>(16 * 24)}, device_a.data(), device_b.data(),
                                 device_c.data(), d.data());
  const std::vector<float> result = d.to_host();
  int wrong = 0;
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 16; ++column) {
      float by_columns = c[row * 16 + column], by_rows = by_columns;
      for (std::size_t k = 0; k < 16; ++k) {
        by_columns += float(a[row * 16 + k]) * float(b[column * 16 + k]);
        by_rows += float(a[row * 16 + k]) * float(b[k * 16 + column]);
      }
      wrong += result[row * 16 + column] != by_columns;
      wrong += result[256 + row * 16 + column] != by_rows;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("mma multiplies what was loaded by rows and by columns") {
  in_each_order([] {
    check_products<fa::half>();
    check_products<fa::bfloat16>();
  });
}

namespace {

// Row sums of the sums, in registers: the four lanes of a row add up theirs. And the sums as the next product's A.
__global__ void chain_kernel(fa::hbm<float> row_sums, fa::hbm<float> squares) {
  const int lane = int(threadIdx.x), g = lane / 4, t = lane % 4;
  mma::A<fa::half> identity{};
  for (int i = 0; i < 2; ++i) {  // the diagonal of an identity matrix
    if (2 * t == g) identity.pair[3 * i] = mma::pack<fa::half>(1.0f, 0.0f);
    if (2 * t + 1 == g) identity.pair[3 * i] = mma::pack<fa::half>(0.0f, 1.0f);
  }
  mma::B<fa::half> numbers[2];  // element (k, n) is k + n
  mma::Accumulator product[2] = {};
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 2; ++i) {
      const float first = float(2 * t + 8 * i + g + 8 * half);
      numbers[half].pair[i] = mma::pack<fa::half>(first, first + 1.0f);
    }
    mma::multiply(product[half], identity, numbers[half]);
  }
  for (int i = 0; i < 2; ++i) {
    float sum = 0.0f;
    for (int half = 0; half < 2; ++half) sum += product[half].x[2 * i] + product[half].x[2 * i + 1];
    for (int distance = 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffff'ffff, sum, distance);
    if (t == 0) row_sums[g + 8 * i] = sum;
  }
  mma::A<fa::half> again;
  for (int i = 0; i < 4; ++i) {
    again.pair[i] = mma::pack<fa::half>(product[i / 2].x[i % 2 * 2], product[i / 2].x[i % 2 * 2 + 1]);
  }
  mma::Accumulator square{};
  mma::multiply(square, again, numbers[0]);
  for (int i = 0; i < 4; ++i) squares[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = square.x[i];
}

}  // namespace

TEST_CASE("sums stay in registers: their rows can be summed up, and they can be a factor of the next product") {
  fa::DeviceBuffer<float> row_sums("row_sums", 16), squares("squares", 128);
  fa::launch<chain_kernel>({{1}, {32}}, row_sums.data(), squares.data());
  for (int row = 0; row < 16; ++row) {
    CHECK(row_sums.to_host()[std::size_t(row)] == float(16 * row + 120));
    for (int column = 0; column < 8; ++column) {
      int expected = 0;
      for (int k = 0; k < 16; ++k) expected += (row + k) * (k + column);
      CHECK(squares.to_host()[std::size_t(8 * row + column)] == float(expected));
    }
  }
}

// ---- Faults

namespace {

enum Mistake {
  none,
  lane_stays_away,
  other_row,
  other_tile,
  bad_column,
  bad_rows,
  past_the_last_row,
  past_the_row,
  no_barrier
};

__global__ void mistake_kernel(int mistake) {
  fa::DynamicShared memory;
  const auto tile = memory.matrix<fa::half>("tile", 20, 24), other = memory.matrix<fa::half>("other", 20, 24);
  const auto narrow = memory.matrix<fa::half>("narrow", 20, 20);  // rows of 40 bytes
  const int lane = int(threadIdx.x);
  const bool odd_one = lane == 7;
  for (int e = lane; e < 20 * 24; e += int(blockDim.x)) {
    tile[e / 24][e % 24] = other[e / 24][e % 24] = fa::half(1.0f);
    if (e < 20 * 20) narrow[e / 20][e % 20] = fa::half(1.0f);
  }
  if (mistake != no_barrier) __syncthreads();
  if (mistake == lane_stays_away && odd_one) return;
  mma::A<fa::half> a;
  mma::B<fa::half> b[2];
  const int row = mistake == past_the_last_row || (mistake == other_row && odd_one) ? 5 : 4;
  const int col = mistake == bad_column ? 4 : mistake == past_the_row ? 16 : 8;
  if (mistake == bad_rows) mma::load_rows(b, narrow, 0, 0);
  mma::load(a, mistake == other_tile && odd_one ? other : tile, row, col);
  mma::load_columns(b, tile, 0, 0);
  mma::Accumulator sums{};
  mma::multiply(sums, a, b[0]);
}

void check_mistake(int mistake, std::initializer_list<std::string> texts, int threads = 32) {
  in_each_order([&] { check_fault([&] { fa::launch<mistake_kernel>({{1}, {threads}, 3 * 960}, mistake); }, texts); });
}

}  // namespace

TEST_CASE("a warp that loads and multiplies as it should is not stopped") {
  CHECK_NOTHROW(fa::launch<mistake_kernel>({{1}, {32}, 3 * 960}, int(none)));
}

TEST_CASE("an operation of fa::mma that not all lanes reach, or a part of a warp, is reported") {
  check_mistake(lane_stays_away, {"fa::mma::load that not all lanes of its mask reach\n  in mistake_kernel",
                                  "thread (7, 0, 0) has come to the end of the kernel"});
  check_mistake(none, {"fa::mma::load by a warp of 8 threads: it takes all 32\n  in mistake_kernel"}, 40);
}

TEST_CASE("lanes that name different parts of a tile, or different tiles, are reported with both") {
  check_mistake(other_row, {"fa::mma::load, at which the lanes of a warp name different places\n"
                            "  in mistake_kernel, block (0, 0, 0), thread (7, 0, 0)\n"
                            "  thread (0, 0, 0): tile[0][0], row = 4, col = 8\n"
                            "  thread (7, 0, 0): tile[0][0], row = 5, col = 8\n  at test_simt_mma.cpp:"});
  check_mistake(other_tile, {"  thread (0, 0, 0): tile[0][0], row = 4, col = 8\n"
                             "  thread (7, 0, 0): other[0][0], row = 4, col = 8\n"});
}

TEST_CASE("rows that begin at no multiple of 16 bytes are reported") {
  check_mistake(bad_column, {"fa::mma::load at tile[4][4], which begins at byte 200: must be a multiple of 16\n"
                             "  in mistake_kernel, block (0, 0, 0), thread (0, 0, 0)"});
  check_mistake(bad_rows, {"fa::mma::load_rows at narrow[1][0], which begins at byte 1960: must be a multiple of 16"});
}

TEST_CASE("a part that the tile does not have is reported") {
  check_mistake(past_the_last_row, {"shared memory: index 20 in dimension 0 of 'tile', which has 20"});
  check_mistake(past_the_row, {"shared memory: index 31 in dimension 1 of 'tile', which has 24"});
}

TEST_CASE("a load orders no memory: __syncwarp is needed before it") {
  check_mistake(no_barrier, {"shared memory: tile[", "] is touched by two threads with no barrier between"});
}
