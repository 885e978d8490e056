// fa/launch_shape.h: what a GPU refuses is refused, by one check for both worlds. And fa/place.h.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "fa/device_error.h"
#include "fa/launch_shape.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::MessageMatches;
using fa::Index;
using fa::LaunchShape;

namespace {

const fa::DeviceInfo small_device{.name = "small", .multiprocessors = 1, .shared_bytes_per_block = 65536};

void accept(const LaunchShape& shape) { CHECK_NOTHROW(fa::validate(shape, "a_kernel", small_device)); }

void refuse(const LaunchShape& shape, const std::string& text) {
  CHECK_THROWS_MATCHES(fa::validate(shape, "a_kernel", small_device), fa::LaunchError,
                       MessageMatches(ContainsSubstring(text)));
}

fa::Place called_from(fa::Place place = fa::Place::here()) { return place; }

constexpr Index two_to_31 = Index{1} << 31;

}  // namespace

TEST_CASE("a shape as large as the limits passes") {
  accept({});
  accept({{two_to_31 - 1, 65535, 65535}, {1024}});
  accept({{1}, {1, 1024}});
  accept({{1}, {16, 1, 64}});
  accept({{1}, {8, 4, 32}});
  accept({{1}, {1}, 65536});
}

TEST_CASE("a grid past a limit is refused, with the argument, its value and the limit") {
  refuse({{two_to_31}}, "grid.x = 2147483648: must be at most 2147483647");
  refuse({{1, 65536}}, "grid.y = 65536: must be at most 65535");
  refuse({{1, 1, 65536}}, "grid.z = 65536: must be at most 65535");
  refuse({{Index{1} << 40}}, "grid.x = 1099511627776: must be at most 2147483647");
}

TEST_CASE("a block past a limit is refused, with the argument, its value and the limit") {
  refuse({{1}, {1025}}, "block.x = 1025: must be at most 1024");
  refuse({{1}, {1, 1025}}, "block.y = 1025: must be at most 1024");
  refuse({{1}, {1, 1, 65}}, "block.z = 65: must be at most 64");
  refuse({{1}, {32, 33}}, "block.x · block.y · block.z = 1056: must be at most 1024");
  refuse({{1}, {1024, 1024, 64}}, "block.x · block.y · block.z = 67108864: must be at most 1024");
}

TEST_CASE("an extent below 1 is refused, in each place") {
  refuse({{0}}, "grid.x = 0: must be at least 1");
  refuse({{1, 0}}, "grid.y = 0: must be at least 1");
  refuse({{1, 1, -1}}, "grid.z = -1: must be at least 1");
  refuse({{1}, {0}}, "block.x = 0: must be at least 1");
  refuse({{1}, {1, -7}}, "block.y = -7: must be at least 1");
  refuse({{1}, {1, 1, 0}}, "block.z = 0: must be at least 1");
}

TEST_CASE("shared memory past what the device has is refused, with the device's name") {
  refuse({{1}, {1}, 65537}, "shared_bytes = 65537: must be at most 65536, what a block of this device (small)");
  refuse({{1}, {1}, -1}, "shared_bytes = -1: must be at least 0");
}

TEST_CASE("a refused launch names the kernel and the line") {
  const LaunchShape shape{{0}};
  const int line = __LINE__ - 1;
  refuse(shape, "a_kernel, launched at ");
  refuse(shape, "test_launch_shape.cpp:" + std::to_string(line) + ": grid.x = 0");
}

TEST_CASE("a refused launch is an error of the device") {
  CHECK_THROWS_AS(fa::validate({{0}}, "a_kernel", small_device), fa::DeviceError);
}

TEST_CASE("an array of dynamic shared memory takes a multiple of 16 bytes") {
  CHECK(fa::shared_bytes<float>(0) == 0);
  CHECK(fa::shared_bytes<float>(1) == 16);
  CHECK(fa::shared_bytes<float>(4) == 16);
  CHECK(fa::shared_bytes<float>(5) == 32);
  CHECK(fa::shared_bytes<char>(17) == 32);
  CHECK(fa::shared_bytes<double>(33 * 65) == 17168);
}

TEST_CASE("a place is the line of the caller") {
  const fa::Place place = called_from();
  CHECK(place.line == __LINE__ - 1);
  CHECK_THAT(place.file, EndsWith("test_launch_shape.cpp"));
  CHECK(to_string(fa::Place{"kernel.cu", 84}) == "kernel.cu:84");
  CHECK(to_string(fa::Place{"/some/folder/kernel.cu", 84}) == "kernel.cu:84");
}
