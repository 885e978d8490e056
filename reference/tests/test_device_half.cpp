// fa/half.h on the device: buffers and kernels know both formats. These tests run on the emulator and on a GPU.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fa/device.h"
#include "fa/half.h"
#include "fa/testing.h"
#include "test_device_vocabulary.h"

namespace {

using fa::DeviceBuffer;
using fa::Index;

template <class T>
unsigned bits_of(const T& value) {
  return std::bit_cast<std::uint16_t>(value);
}

template <class T>
void check_poisoned() {
  for (const Index count : {1, 2, 3, 77, 4096}) {
    const DeviceBuffer<T> buffer("q", count);
    CHECK(buffer.bytes() == 2 * count);
    Index poisoned = 0;
    for (const T& value : buffer.to_host()) poisoned += fa::is_poison(value);
    CHECK(poisoned == count);
  }
}

template <class T>
void check_conversions() {
  std::vector<float> values{0.0f,   -0.0f,    1.0f / 3, 65504.0f,   65520.0f,
                            -1e38f, 0x1p-24f, 0x1p-25f, 0x1.8p-24f, 0x1p-133f};
  for (unsigned bits = 1; bits < 0x7f80'0000; bits += 123'457) values.push_back(std::bit_cast<float>(bits));
  const auto count = static_cast<Index>(values.size());
  const DeviceBuffer<float> in("in", values);
  DeviceBuffer<T> rounded("rounded", count);
  DeviceBuffer<float> widened("widened", count);
  fa::tests::round_and_widen(in, rounded, widened);

  const std::vector<T> device = rounded.to_host(), host = fa::rounded<T>(values);
  const std::vector<float> back = widened.to_host();
  int wrong = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    wrong += bits_of(device[at]) != bits_of(host[at]) || back[at] != float(host[at]);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a device buffer of half precision holds poison until somebody writes") {
  check_poisoned<fa::half>();
  check_poisoned<fa::bfloat16>();
}

TEST_CASE("the device rounds to half precision, and widens, as the host does") {
  check_conversions<fa::half>();
  check_conversions<fa::bfloat16>();
}

TEST_CASE("what the device computes as NaN is no poison, in half precision too") {
  const DeviceBuffer<float> in("in", std::vector<float>{std::numeric_limits<float>::quiet_NaN(), fa::poison()});
  DeviceBuffer<fa::half> halves("halves", 2);
  DeviceBuffer<fa::bfloat16> bfloats("bfloats", 2);
  DeviceBuffer<float> widened("widened", 2);
  fa::tests::round_and_widen(in, halves, widened);
  fa::tests::round_and_widen(in, bfloats, widened);
  for (const fa::half& value : halves.to_host()) CHECK((std::isnan(float(value)) && !fa::is_poison(value)));
  for (const fa::bfloat16& value : bfloats.to_host()) CHECK((std::isnan(float(value)) && !fa::is_poison(value)));
}
