// nvcuda::wmma on the emulator: products, and what loads and stores count.

#include <algorithm>
#include <random>

#include "fa/tensor_core.h"
#include "simt_support.h"

namespace {

namespace wmma = nvcuda::wmma;
using fa::Index;
using fa::Traffic;
using fa::simt::in_each_order;

template <class T, class Layout>
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, Layout>;
template <class T, class Layout>
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, Layout>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// d = a b + c, once from HBM and once through shared memory. The matrices have rows, or columns, of 16, `ld` apart.
template <class T, class LayoutOfA, class LayoutOfB>
__global__ void multiply_kernel(fa::hbm<const T> a, fa::hbm<const T> b, fa::hbm<const float> c, fa::hbm<float> d,
                                int ld, wmma::layout_t layout, bool through_shared) {
  A<T, LayoutOfA> a_part;
  B<T, LayoutOfB> b_part;
  Sums sums;
  if (!through_shared) {
    wmma::load_matrix_sync(a_part, a, unsigned(ld));
    wmma::load_matrix_sync(b_part, b, unsigned(ld));
    wmma::load_matrix_sync(sums, c, unsigned(ld), layout);
    wmma::mma_sync(sums, a_part, b_part, sums);
    wmma::store_matrix_sync(d, sums, unsigned(ld), layout);
    return;
  }
  fa::DynamicShared memory;
  const auto a_tile = memory.matrix<T>("a_tile", 16, ld), b_tile = memory.matrix<T>("b_tile", 16, ld);
  const auto c_tile = memory.matrix<float>("c_tile", 16, ld);
  for (int e = int(threadIdx.x); e < 256; e += 32) {
    const int at = e / 16 * ld + e % 16;
    a_tile[e / 16][e % 16] = a[at];
    b_tile[e / 16][e % 16] = b[at];
    c_tile[e / 16][e % 16] = c[at];
  }
  __syncwarp();
  wmma::load_matrix_sync(a_part, &a_tile[0][0], unsigned(ld));
  wmma::load_matrix_sync(b_part, &b_tile[0][0], unsigned(ld));
  wmma::load_matrix_sync(sums, &c_tile[0][0], unsigned(ld), layout);
  wmma::mma_sync(sums, a_part, b_part, sums);
  __syncwarp();
  wmma::store_matrix_sync(&c_tile[0][0], sums, unsigned(ld), layout);
  __syncwarp();
  for (int e = int(threadIdx.x); e < 256; e += 32) d[e / 16 * ld + e % 16] = c_tile[e / 16][e % 16];
}

// Small integers: each product and each sum is exact.
template <class T>
std::vector<T> integers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = T(float(int(random() % 17) - 8));
  return values;
}

std::size_t place(bool by_column, int row, int column, int ld) {
  return std::size_t(by_column ? column * ld + row : row * ld + column);
}

template <class T, class LayoutOfA, class LayoutOfB>
void check_product(int ld, wmma::layout_t layout) {
  constexpr bool a_by_column = std::is_same_v<LayoutOfA, wmma::col_major>;
  constexpr bool b_by_column = std::is_same_v<LayoutOfB, wmma::col_major>;
  const bool by_column = layout == wmma::mem_col_major;
  const auto a = integers<T>(16 * ld, 1), b = integers<T>(16 * ld, 2);
  const auto c = integers<float>(16 * ld, 3);
  const fa::DeviceBuffer<T> device_a("a", a), device_b("b", b);
  const fa::DeviceBuffer<float> device_c("c", c);
  const fa::LaunchShape shape{{1}, {32}, 2 * fa::shared_bytes<T>(16 * ld) + fa::shared_bytes<float>(16 * ld)};
  for (const bool through_shared : {false, true}) {
    fa::DeviceBuffer<float> d("d", 16 * ld);
    const fa::DeviceMeter meter;
    fa::launch<multiply_kernel<T, LayoutOfA, LayoutOfB>>(shape, device_a.data(), device_b.data(), device_c.data(),
                                                         d.data(), ld, layout, through_shared);
    const std::vector<float> result = d.to_host();
    int wrong = 0;
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        float expected = c[place(by_column, row, column, ld)];
        for (int k = 0; k < 16; ++k) {
          expected += float(a[place(a_by_column, row, k, ld)]) * float(b[place(b_by_column, k, column, ld)]);
        }
        wrong += result[place(by_column, row, column, ld)] != expected;
      }
    }
    CHECK(wrong == 0);
    CHECK(meter.of("a") == Traffic{512, 0});
    CHECK(meter.of("b") == Traffic{512, 0});
    CHECK(meter.of("c") == Traffic{1024, 0});
    CHECK(meter.of("d") == Traffic{0, 1024});
    // Rows of half precision that are 48 or 80 bytes apart: every other one lies in two sectors.
    if (!through_shared) CHECK(meter.read_sectors() == (ld == 16 ? 16 + 16 : 24 + 24) + 32);
  }
}

template <class T>
void check_products() {
  for (const int ld : {16, 24, 40}) {
    for (const auto layout : {wmma::mem_row_major, wmma::mem_col_major}) {
      check_product<T, wmma::row_major, wmma::row_major>(ld, layout);
      check_product<T, wmma::row_major, wmma::col_major>(ld, layout);
      check_product<T, wmma::col_major, wmma::row_major>(ld, layout);
      check_product<T, wmma::col_major, wmma::col_major>(ld, layout);
    }
  }
}

}  // namespace

TEST_CASE("wmma multiplies matrices of either layout, from HBM and from shared memory") {
  in_each_order([] {
    check_products<fa::half>();
    check_products<fa::bfloat16>();
  });
}

namespace {

// x[i] of each lane, after the elements of a matrix were loaded: element (row, column) is 16 row + column.
template <class Fragment>
__global__ void parts_kernel(fa::hbm<const float> numbers, fa::hbm<float> out) {
  Fragment part;
  wmma::load_matrix_sync(part, numbers, 16, wmma::mem_row_major);
  for (int i = 0; i < part.num_elements; ++i) {
    out[int(threadIdx.x) * part.num_elements + i] = part.x[i];
    part.x[i] = 2.0f * part.x[i];
  }
  wmma::store_matrix_sync(out + 256, part, 16, wmma::mem_row_major);
}

}  // namespace

TEST_CASE("lanes hold each element once, but not the ones that a GPU's lanes hold; what they do to it is done") {
  const std::vector<float> numbers = fa::simt::counting_up(256);
  const fa::DeviceBuffer<float> in("in", numbers);
  fa::DeviceBuffer<float> out("out", 512);
  fa::launch<parts_kernel<Sums>>({{1}, {32}}, in.data(), out.data());
  std::vector<float> parts = out.to_host(0, 256);
  for (int lane = 0; lane < 32; ++lane) {  // as mma.m16n8k16 leaves its sums
    for (int i = 0; i < 8; ++i) {
      const int row = lane / 4 + i / 2 % 2 * 8, column = lane % 4 * 2 + i % 2 + i / 4 * 8;
      CHECK(parts[std::size_t(8 * lane + i)] != float(16 * row + column));
    }
  }
  std::sort(parts.begin(), parts.end());
  CHECK(parts == numbers);
  for (int e = 0; e < 256; ++e) CHECK(out.to_host()[std::size_t(256 + e)] == float(2 * e));
}

// ---- Numbers

namespace {

template <class T>
__global__ void fill_kernel(fa::hbm<float> out, float a, float b, float c) {
  A<T, wmma::row_major> a_part;
  B<T, wmma::row_major> b_part;
  Sums sums;
  wmma::fill_fragment(a_part, T(a));
  wmma::fill_fragment(b_part, T(b));
  wmma::fill_fragment(sums, c);
  wmma::mma_sync(sums, a_part, b_part, sums);
  wmma::store_matrix_sync(out, sums, 16, wmma::mem_row_major);
}

template <class T>
float product_of_filled(float a, float b, float c) {
  fa::DeviceBuffer<float> out("out", 256);
  fa::launch<fill_kernel<T>>({{1}, {32}}, out.data(), a, b, c);
  return out.to_host()[17];
}

}  // namespace

TEST_CASE("products are exact in float, and sums are rounded to float") {
  CHECK(product_of_filled<fa::half>(1.0f + 0x1p-10f, 1.0f + 0x1p-10f, 0.0f) == 16.0f + 0x1p-5f + 0x1p-16f);
  CHECK(product_of_filled<fa::half>(0x1p-24f, 0x1p-24f, 0.0f) == 0x1p-44f);  // subnormal in half precision
  CHECK(product_of_filled<fa::half>(0x1p15f, 0x1p15f, 0.0f) == 0x1p34f);
  CHECK(product_of_filled<fa::half>(1.0f, 1.0f, 0x1p24f) == 0x1p24f);  // sixteen times rounded, to even
  CHECK(product_of_filled<fa::bfloat16>(0x1p-100f, 0x1p50f, 1.0f) == 1.0f);
  CHECK(product_of_filled<fa::bfloat16>(0x1p100f, 0x1p100f, 0.0f) == INFINITY);
  CHECK(std::isnan(product_of_filled<fa::half>(NAN, 0.0f, 0.0f)));
  CHECK(std::isnan(product_of_filled<fa::half>(INFINITY, 0.0f, 0.0f)));
}
