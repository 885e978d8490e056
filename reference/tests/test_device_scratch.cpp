// fa/device_scratch.h: working memory of the device is counted, limited and given back. Runs in both worlds.

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/device.h"
#include "fa/device_scratch.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Lease = fa::DeviceScratch::Lease;

// A lease points to its scratch, so that one stays where it is.
static_assert(!std::is_copy_constructible_v<fa::DeviceScratch> && !std::is_move_constructible_v<fa::DeviceScratch>);
static_assert(!std::is_copy_assignable_v<fa::DeviceScratch> && !std::is_move_assignable_v<fa::DeviceScratch>);

// Bytes and memory have one owner.
static_assert(!std::is_copy_constructible_v<Lease> && std::is_nothrow_move_constructible_v<Lease>);
static_assert(!std::is_copy_assignable_v<Lease> && std::is_nothrow_move_assignable_v<Lease>);
static_assert(!std::is_copy_constructible_v<fa::DeviceBuffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<fa::DeviceBuffer<float>>);

}  // namespace

TEST_CASE("a buffer of a device's scratch takes its bytes, and gives them back when its scope ends") {
  fa::DeviceScratch scratch;
  CHECK(scratch.bytes_in_use() == 0);
  {
    const auto floats = scratch.allocate<float>("floats", 10);
    CHECK(floats.size() == 10);
    CHECK(floats.name() == "floats");
    CHECK(scratch.bytes_in_use() == 40);
    {
      const auto doubles = scratch.allocate<double>("doubles", 7);
      CHECK(scratch.bytes_in_use() == 96);
    }
    CHECK(scratch.bytes_in_use() == 40);
  }
  CHECK(scratch.bytes_in_use() == 0);
  CHECK(scratch.peak_bytes() == 96);
  CHECK(scratch.total_bytes() == 96);
}

TEST_CASE("a buffer of a device's scratch that was moved is given back once, by its last owner") {
  fa::DeviceScratch scratch;
  std::vector<fa::DeviceBuffer<float>> kept;
  {
    auto buffer = scratch.allocate<float>("S", 100);
    kept.push_back(std::move(buffer));
  }
  CHECK(scratch.bytes_in_use() == 400);
  kept.clear();
  CHECK(scratch.bytes_in_use() == 0);
  CHECK(scratch.total_bytes() == 400);
}

TEST_CASE("a buffer of a device's scratch that is replaced gives back what it held") {
  fa::DeviceScratch first("first"), second("second");
  auto buffer = first.allocate<float>("S", 10);
  buffer = second.allocate<float>("S", 20);
  CHECK(first.bytes_in_use() == 0);
  CHECK(second.bytes_in_use() == 80);
  buffer = fa::DeviceBuffer<float>("out", 3);  // of no scratch
  CHECK(second.bytes_in_use() == 0);
}

TEST_CASE("a lease counts its bytes as long as it lives, and only once") {
  fa::DeviceScratch scratch;
  {
    Lease lease(scratch, 8);
    CHECK(scratch.bytes_in_use() == 8);
    Lease moved = std::move(lease);
    CHECK(scratch.bytes_in_use() == 8);
    moved = Lease(scratch, 5);
    CHECK(scratch.bytes_in_use() == 5);
    moved = {};
    CHECK(scratch.bytes_in_use() == 0);
  }
  CHECK(scratch.bytes_in_use() == 0);
  CHECK(scratch.peak_bytes() == 13);  // the new one was there before the old one went
  CHECK(scratch.total_bytes() == 13);
}

TEST_CASE("the peak of a device's scratch starts from what is in use when it is reset") {
  fa::DeviceScratch scratch;
  const auto kept = scratch.allocate<float>("kept", 3);
  {
    const auto large = scratch.allocate<float>("large", 1000);
  }
  CHECK(scratch.peak_bytes() == 4012);
  scratch.reset_peak();
  CHECK(scratch.peak_bytes() == 12);
}

TEST_CASE("a buffer past the capacity of a device's scratch is refused, and takes nothing") {
  fa::DeviceScratch scratch("working memory", 100);
  CHECK(scratch.capacity() == 100);
  const auto half = scratch.allocate<float>("half", 12);
  CHECK_THROWS_MATCHES(scratch.allocate<float>("S", 14), std::length_error,
                       MessageMatches(ContainsSubstring(
                           "working memory: 'S' needs 14 elements of 4 bytes, but 52 of 100 bytes are left")));
  CHECK_THROWS_AS(scratch.allocate<double>("huge", fa::Index{1} << 62), std::length_error);
  CHECK(scratch.total_bytes() == 48);
  CHECK(scratch.allocate<float>("rest", 13).size() == 13);
}

TEST_CASE("a negative count or capacity of a device's scratch is refused") {
  fa::check_rejects([] { fa::DeviceScratch("HBM", -1); }, "HBM: capacity = -1: must be at least 0");
  fa::DeviceScratch scratch;
  fa::check_rejects([&] { scratch.allocate<float>("S", -3); }, "scratch: 'S' of -3 elements: must be at least 0");
  CHECK(scratch.total_bytes() == 0);
}

TEST_CASE("a buffer of a device's scratch starts as poison") {
  fa::DeviceScratch scratch;
  for (const float value : scratch.allocate<float>("S", 77).to_host()) CHECK(fa::is_poison(value));
}
