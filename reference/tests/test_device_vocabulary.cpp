// fa/device.h: the vocabulary means the same in both worlds. These tests run on the emulator and on a GPU.

#include "test_device_vocabulary.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fa/device.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using fa::DeviceBuffer;
using fa::Index;

std::vector<float> counting_up(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}
std::vector<float> counting_down(int count) {
  const std::vector<float> up = counting_up(count);
  return {up.rbegin(), up.rend()};
}

template <class Error, class Call>
void check_throws(Call call, const std::string& text) {
  CHECK_THROWS_MATCHES(call(), Error, MessageMatches(ContainsSubstring(text)));
}

}  // namespace

TEST_CASE("a device buffer keeps what is copied to it") {
  const std::vector<float> values = counting_up(1000);
  DeviceBuffer<float> buffer("q", values);
  CHECK(buffer.name() == "q");
  CHECK(buffer.size() == 1000);
  CHECK(buffer.bytes() == 4000);
  CHECK(buffer.to_host() == values);
  CHECK(buffer.to_host(997, 3) == std::vector<float>{998, 999, 1000});
  CHECK(buffer.to_host(1000, 0).empty());
  buffer.from_host(std::vector<float>{-1, -2}, 5);
  CHECK(buffer.to_host(4, 4) == std::vector<float>{5, -1, -2, 8});
}

TEST_CASE("a device buffer that nobody wrote holds poison, or zeros if its type has no NaN") {
  for (const Index count : {1, 2, 3, 77, 1000, 4096}) {
    const DeviceBuffer<float> floats("floats", count);
    Index poisoned = 0;
    for (const float value : floats.to_host()) poisoned += fa::is_poison(value);
    CHECK(poisoned == count);
  }
  const DeviceBuffer<int> ints("ints", 5);
  CHECK(ints.to_host() == std::vector<int>(5, 0));
}

TEST_CASE("a device buffer may be empty") {
  DeviceBuffer<float> empty("empty", 0), also_empty("also empty", std::vector<float>{});
  CHECK(empty.to_host().empty());
  CHECK(also_empty.to_host().empty());
  CHECK_NOTHROW(empty.from_host(std::vector<float>{}));
}

TEST_CASE("a device buffer that was moved keeps its elements") {
  DeviceBuffer<float> buffer("q", counting_up(9));
  DeviceBuffer<float> moved = std::move(buffer);
  CHECK(moved.to_host() == counting_up(9));
  DeviceBuffer<float> other("k", 3);
  other = std::move(moved);
  CHECK(other.name() == "q");
  CHECK(other.to_host() == counting_up(9));
}

TEST_CASE("a device buffer that was moved from is empty, and may be assigned to") {
  DeviceBuffer<float> buffer("q", counting_up(9));
  const DeviceBuffer<float> moved = std::move(buffer);
  CHECK(buffer.name() == "(moved from)");
  CHECK(buffer.size() == 0);
  CHECK(buffer.bytes() == 0);
  CHECK(buffer.data() == nullptr);
  CHECK(buffer.to_host().empty());
  CHECK_NOTHROW(buffer.from_host(std::vector<float>{}));
  check_throws<std::out_of_range>([&] { return buffer.to_host(0, 1); }, "(moved from)");
  check_throws<std::out_of_range>([&] { buffer.from_host(counting_up(1)); }, "(moved from)");
  buffer = DeviceBuffer<float>("k", counting_up(3));
  CHECK(buffer.name() == "k");
  CHECK(buffer.to_host() == counting_up(3));
}

TEST_CASE("a device buffer refuses elements that it does not have") {
  DeviceBuffer<float> buffer("q", counting_up(4));
  fa::check_rejects([] { DeviceBuffer<float>("q", -3); }, "q: count = -3: must be at least 0");
  check_throws<std::out_of_range>([&] { return buffer.to_host(2, 3); }, "q");
  check_throws<std::out_of_range>([&] { return buffer.to_host(-1, 1); }, "q");
  check_throws<std::out_of_range>([&] { return buffer.to_host(0, -1); }, "q");
  check_throws<std::out_of_range>([&] { buffer.from_host(counting_up(2), 3); }, "q");
  CHECK(buffer.to_host() == counting_up(4));
}

TEST_CASE("a device buffer larger than the device's memory is refused by name") {
  check_throws<fa::DeviceError>([] { DeviceBuffer<float>("huge", Index{1} << 60); }, "huge");
  CHECK(DeviceBuffer<float>("small", counting_up(3)).to_host() == counting_up(3));  // and the error is gone
}

TEST_CASE("a launch runs every thread of every block once") {
  DeviceBuffer<fa::tests::Writer> out("out", 3 * 2 * 40);
  fa::tests::write_who(out, {{3, 2}, {40}});
  const auto writers = out.to_host();
  for (int at = 0; at < 3 * 2 * 40; ++at) {
    const auto [block_x, block_y, thread] = writers[static_cast<std::size_t>(at)];
    CHECK(block_x == at / 40 % 3);
    CHECK(block_y == at / 120);
    CHECK(thread == at % 40);
  }
}

TEST_CASE("threads add to one element without losing a sum") {
  DeviceBuffer<int> counter("counter", std::vector<int>{0});
  fa::tests::count_threads(counter, {{5, 3, 2}, {4, 8, 2}});
  CHECK(counter.to_host()[0] == 30 * 64);
}

TEST_CASE("dynamic shared memory holds a matrix and an array, also past 48 KiB") {
  for (const int rows : {1, 3, 200}) {
    const int count = rows * 75;  // 200 rows: 60000 bytes
    const DeviceBuffer<float> in("in", counting_up(count));
    DeviceBuffer<float> out("out", count);
    fa::tests::reverse_through_dynamic_shared(in, out, rows);
    CHECK(out.to_host() == counting_down(count));
  }
}

TEST_CASE("shared arrays of one, two and three dimensions keep each element") {
  const DeviceBuffer<float> in("in", counting_up(24));
  DeviceBuffer<float> out("out", 24);
  fa::tests::reverse_through_static_shared(in, out);
  CHECK(out.to_host() == counting_down(24));
}

TEST_CASE("a launch that a GPU would refuse names kernel and argument, and the next one runs") {
  DeviceBuffer<int> counter("counter", std::vector<int>{0});
  const auto refuses = [&](const fa::LaunchShape& shape, const std::string& text) {
    check_throws<fa::LaunchError>([&] { fa::tests::count_threads(counter, shape); }, "count_kernel, launched at ");
    check_throws<fa::LaunchError>([&] { fa::tests::count_threads(counter, shape); }, text);
  };
  refuses({{1}, {1025}}, "block.x = 1025");
  refuses({{0}, {1}}, "grid.x = 0");
  refuses({{1, 70000}, {1}}, "grid.y = 70000");
  refuses({{1}, {1}, fa::device().shared_bytes_per_block + 1}, "shared_bytes = ");
  fa::tests::count_threads(counter, {{1}, {1}, fa::device().shared_bytes_per_block});
  CHECK(counter.to_host()[0] == 1);
}

TEST_CASE("static and dynamic shared memory have one limit together") {
  const Index most = fa::device().shared_bytes_per_block;
  DeviceBuffer<float> out("out", 1);
  check_throws<fa::DeviceError>([&] { fa::tests::take_static_and_dynamic(out, most); }, "static_and_dynamic_kernel");
  fa::tests::take_static_and_dynamic(out, most - 4000);
  CHECK(out.to_host()[0] == 1.0f);
}

TEST_CASE("a kernel that comes to a todo is reported as not started, and the next launch runs") {
  DeviceBuffer<int> out("out", 2);
  check_throws<fa::NotStarted>([&] { fa::tests::meet_todo(out, 1); }, "not started: Step 1: scores");
  check_throws<fa::NotStarted>([&] { fa::tests::meet_todo(out, -1); }, "not started: Step 2: softmax");
  CHECK_NOTHROW(fa::tests::meet_todo(out, 0));
  CHECK(out.to_host() == std::vector<int>{7, 7});
}

TEST_CASE("a todo on the host is reported as not started") {
  check_throws<fa::NotStarted>([] { fa::todo("Step 4: the launcher"); }, "not started: Step 4: the launcher");
}

TEST_CASE("the device says what it is") {
  CHECK(fa::device_available());
  const fa::DeviceInfo& device = fa::device();
  CHECK_FALSE(device.name.empty());
  CHECK(device.multiprocessors >= 1);
  CHECK(device.shared_bytes_per_block >= 48 * 1024);
  CHECK((device.memory_bytes > 0 || device.emulated));
  CHECK(device.emulated == fa::counts_bytes);
  CHECK((device.compute_capability >= 75) == !device.emulated);
}

TEST_CASE("a timer measures the launches between start and stop") {
  DeviceBuffer<int> counter("counter", std::vector<int>{0});
  fa::DeviceTimer timer;
  timer.start();
  fa::tests::count_threads(counter, {{100}, {64}});
  const double seconds = timer.stop();
  CHECK(seconds > 0.0);
  CHECK(seconds < 60.0);
}

TEST_CASE("launches that nobody waits for have ended when their result is copied") {
  DeviceBuffer<int> counter("counter", std::vector<int>{0});
  fa::set_synchronous_launches(false);
  for (int round = 0; round < 50; ++round) fa::tests::count_threads(counter, {{10}, {64}});
  fa::set_synchronous_launches(true);
  CHECK(counter.to_host()[0] == 50 * 640);
}

TEST_CASE("a meter counts on the emulator, and says that a GPU does not") {
  DeviceBuffer<int> counter("counter", std::vector<int>{0});
  fa::DeviceMeter meter;
  fa::tests::count_threads(counter, {{2}, {32}});
  if constexpr (fa::counts_bytes) {
    CHECK(meter.total() == fa::Traffic{256, 256});
  } else {
    check_throws<std::logic_error>([&] { return meter.total(); }, "a GPU does not count bytes");
    CHECK_THROWS_AS(meter.of("counter"), std::logic_error);
    CHECK_THROWS_AS(meter.by_buffer(), std::logic_error);
    CHECK_THROWS_AS(meter.launches(), std::logic_error);
  }
}
