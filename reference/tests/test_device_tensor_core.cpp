// fa/tensor_core.h: the vocabulary means the same in both worlds. These tests run on the emulator and on a GPU.

#include "test_device_tensor_core.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "fa/testing.h"

namespace {

using fa::DeviceBuffer;

void need_tensor_cores() {
  if (!fa::device().emulated && fa::device().compute_capability < 80) SKIP("needs compute capability 8.0");
}

// Small integers, so that sums are exact in any order.
template <class T>
std::vector<T> integers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(T(float(int(random() % 17) - 8)));
  return values;
}

template <class T>
std::vector<float> numbers(const std::vector<T>& values) {
  std::vector<float> result;
  for (const T& value : values) result.push_back(float(value));
  return result;
}

template <class T, int n>
void check_vectors() {
  const std::vector<T> values = integers<T>(256, n);
  const DeviceBuffer<T> in("in", values);
  DeviceBuffer<T> out("out", 256);
  fa::tests::reverse_vectors<T, n>(in, out);
  std::vector<float> expected;
  for (int group = 256 / n - 1; group >= 0; --group) {
    for (int i = 0; i < n; ++i) expected.push_back(float(values[std::size_t(group * n + i)]));
  }
  CHECK(numbers(out.to_host()) == expected);
}

template <class T>
void check_copies() {
  for (const int valid : {1024, 1000, 517, 256, 3, 0}) {
    const std::vector<T> values = integers<T>(1024, 7);
    const DeviceBuffer<T> in("in", values);
    DeviceBuffer<T> out("out", 1024);
    fa::tests::copy_tiles(in, out, valid);
    std::vector<float> expected = numbers(values);
    std::fill(expected.begin() + valid, expected.end(), 0.0f);
    CHECK(numbers(out.to_host()) == expected);
  }
}

template <class T>
void check_products() {
  const std::vector<T> a = integers<T>(256, 1), b = integers<T>(256, 2);
  const std::vector<float> c = integers<float>(256, 3);
  const DeviceBuffer<T> device_a("a", a), device_b("b", b);
  const DeviceBuffer<float> device_c("c", c);
  for (const bool columns : {false, true}) {
    std::vector<float> once = c, twice(256);
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 16; ++column) {
        float& sum = once[16 * row + column];
        for (std::size_t k = 0; k < 16; ++k) {
          sum += float(a[16 * row + k]) * float(columns ? b[16 * column + k] : b[16 * k + column]);
        }
        twice[16 * row + column] = 2.0f * sum;
      }
    }
    DeviceBuffer<float> by_wmma("by_wmma", 256), by_mma("by_mma", 256);
    fa::tests::multiply_with_wmma(device_a, device_b, device_c, by_wmma, columns);
    fa::tests::multiply_with_mma(device_a, device_b, device_c, by_mma, columns);
    CHECK(by_wmma.to_host() == twice);
    CHECK(by_mma.to_host() == once);
  }
}

template <class T>
unsigned pair_of(T low, T high) {
  return std::bit_cast<std::uint16_t>(low) | unsigned{std::bit_cast<std::uint16_t>(high)} << 16;
}

// As fa/tensor_core.h says.
template <class T>
void check_loads(int row, int col) {
  const std::vector<T> values = integers<T>(32 * 32, 5);
  const DeviceBuffer<T> in("in", values);
  DeviceBuffer<unsigned> out("out", 3 * 32 * 4);
  fa::tests::load_for_mma(in, out, row, col);
  const auto at = [&](int r, int c) { return values[std::size_t(32 * (row + r) + col + c)]; };
  std::vector<unsigned> a, columns, rows;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int r = g + i % 2 * 8, c = 2 * t + i / 2 * 8;
      a.push_back(pair_of(at(r, c), at(r, c + 1)));
      const int k = 2 * t + i % 2 * 8, n = g + i / 2 * 8;  // rows k and k + 1 and column n of B
      columns.push_back(pair_of(at(n, k), at(n, k + 1)));
      rows.push_back(pair_of(at(k, n), at(k + 1, n)));
    }
  }
  CHECK(out.to_host(0, 128) == a);
  CHECK(out.to_host(128, 128) == columns);
  CHECK(out.to_host(256, 128) == rows);
}

template <class T>
void check_packing() {
  std::vector<float> values{0.0f, -0.0f, 1.0f, -2.0f, 1e-7f, 3e38f, 1.0f / 3.0f, 65519.0f, INFINITY, -INFINITY};
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) values.push_back(std::ldexp(float(random()), int(random() % 60) - 60));
  const DeviceBuffer<float> in("in", values);
  DeviceBuffer<unsigned> out("out", fa::Index(values.size() / 2));
  fa::tests::pack_pairs<T>(in, out);
  std::vector<unsigned> expected;
  for (std::size_t i = 0; i < values.size(); i += 2) expected.push_back(pair_of(T(values[i]), T(values[i + 1])));
  CHECK(out.to_host() == expected);
}

}  // namespace

TEST_CASE("vectors of 4, 8 and 16 bytes go to shared memory and back") {
  need_tensor_cores();
  check_vectors<float, 1>();
  check_vectors<float, 2>();
  check_vectors<float, 4>();
  check_vectors<fa::half, 2>();
  check_vectors<fa::bfloat16, 8>();
}

TEST_CASE("asynchronous copies bring tile after tile, with zeros past the end") {
  need_tensor_cores();
  check_copies<fa::half>();
  check_copies<fa::bfloat16>();
}

TEST_CASE("tensor cores multiply matrices, through wmma and through mma") {
  need_tensor_cores();
  check_products<fa::half>();
  check_products<fa::bfloat16>();
}

TEST_CASE("loads for mma deal out a tile to the lanes as it is written") {
  need_tensor_cores();
  for (const auto& [row, col] : {std::pair{0, 0}, std::pair{16, 16}, std::pair{5, 8}}) {
    check_loads<fa::half>(row, col);
    check_loads<fa::bfloat16>(row, col);
  }
}

TEST_CASE("two numbers are rounded into one register, the first in its low half") {
  need_tensor_cores();
  check_packing<fa::half>();
  check_packing<fa::bfloat16>();
}

TEST_CASE("the fast power of two is exact to 2 units in the last place, and has no subnormal results") {
  std::vector<float> exponents{0.0f, 1.0f, -126.0f, -126.5f, -140.0f, -INFINITY, INFINITY, NAN};
  for (float x = -125.9f; x < 127.9f; x += 0.37f) exponents.push_back(x);
  const DeviceBuffer<float> in("x", exponents);
  DeviceBuffer<float> out("out", in.size());
  fa::tests::raise_two_to(in, out);
  const std::vector<float> powers = out.to_host();
  CHECK(std::vector<float>(powers.begin(), powers.begin() + 7) ==
        std::vector<float>{1.0f, 2.0f, 0x1p-126f, 0.0f, 0.0f, 0.0f, INFINITY});
  CHECK(std::isnan(powers[7]));
  for (std::size_t i = 8; i < powers.size(); ++i) {
    const double exact = std::exp2(double(exponents[i]));
    CHECK(std::abs(double(powers[i]) - exact) <= 2 * exact * 0x1p-23);
  }
}
