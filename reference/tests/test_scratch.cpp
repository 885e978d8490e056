// fa/scratch.h: working memory is counted, poisoned, limited and given back.

#include <cmath>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/scratch.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using FloatArray = fa::Scratch::Array<float>;

// An array keeps a reference to its Scratch, so neither may move away; and only a Scratch makes arrays.
static_assert(!std::is_copy_constructible_v<fa::Scratch> && !std::is_move_constructible_v<fa::Scratch>);
static_assert(!std::is_copy_assignable_v<fa::Scratch> && !std::is_move_assignable_v<fa::Scratch>);
static_assert(!std::is_copy_constructible_v<FloatArray> && !std::is_move_constructible_v<FloatArray>);
static_assert(!std::is_copy_assignable_v<FloatArray> && !std::is_move_assignable_v<FloatArray>);
static_assert(!std::is_default_constructible_v<FloatArray>);
static_assert(std::is_same_v<decltype(std::declval<const FloatArray&>()[0]), const float&>);
static_assert(std::is_same_v<decltype(std::declval<const FloatArray&>().data()), const float*>);

// What guards reported, while this exists. Other tests have those of testing.cpp.
struct ReportedGuards {
  static inline std::vector<std::string> messages;
  fa::ScratchGuards before =
      fa::Scratch::guard_arrays({4, [](const std::string& message) { messages.push_back(message); }});
  ReportedGuards() { messages.clear(); }
  ~ReportedGuards() { fa::Scratch::guard_arrays(before); }
};

// Memory runs out at the second copy.
struct Unaffordable {
  int copies = 0;
  Unaffordable() = default;
  Unaffordable(const Unaffordable& other) : copies(other.copies + 1) {
    if (++made == 2) throw std::bad_alloc();
  }
  static inline int made = 0;
};

}  // namespace

TEST_CASE("an array takes its bytes, and gives them back when its scope ends") {
  fa::Scratch scratch;
  CHECK(scratch.bytes_in_use() == 0);
  {
    const auto floats = scratch.allocate<float>("floats", 10);
    CHECK(scratch.bytes_in_use() == 40);
    {
      const auto doubles = scratch.allocate<double>("doubles", 7);
      CHECK(doubles.bytes() == 56);
      CHECK(scratch.bytes_in_use() == 96);
    }
    CHECK(floats.size() == 10);
    CHECK(floats.bytes() == 40);
    CHECK(scratch.bytes_in_use() == 40);
  }
  CHECK(scratch.bytes_in_use() == 0);
}

TEST_CASE("an array is given back when an exception ends its scope") {
  fa::Scratch scratch;
  const auto fail_midway = [&] {
    const auto array = scratch.allocate<float>("S", 100);
    throw std::runtime_error("midway");
  };
  CHECK_THROWS_AS(fail_midway(), std::runtime_error);
  CHECK(scratch.bytes_in_use() == 0);
  CHECK(scratch.peak_bytes() == 400);
}

TEST_CASE("the peak is the most that was in use at once, not the sum") {
  fa::Scratch scratch;
  CHECK(scratch.peak_bytes() == 0);
  {
    const auto first = scratch.allocate<float>("first", 100);
  }
  {
    const auto second = scratch.allocate<float>("second", 30);
    const auto third = scratch.allocate<float>("third", 50);
    CHECK(scratch.peak_bytes() == 400);
  }
  CHECK(scratch.peak_bytes() == 400);
  const auto fourth = scratch.allocate<float>("fourth", 90);
  const auto fifth = scratch.allocate<float>("fifth", 20);
  CHECK(scratch.peak_bytes() == 440);
}

TEST_CASE("a reset peak starts from what is in use") {
  fa::Scratch scratch;
  const auto kept = scratch.allocate<float>("kept", 3);
  {
    const auto large = scratch.allocate<float>("large", 1000);
  }
  scratch.reset_peak();
  CHECK(scratch.peak_bytes() == 12);
  {
    const auto small = scratch.allocate<float>("small", 2);
  }
  CHECK(scratch.peak_bytes() == 20);
}

TEST_CASE("elements start as poison, and keep what is written to them alone") {
  fa::Scratch scratch;
  auto array = scratch.allocate<float>("array", 5);
  for (fa::Index at = 0; at < array.size(); ++at) CHECK(fa::is_poison(array[at]));
  array[3] = 0.25f;
  CHECK(array.data()[3] == 0.25f);
  array.data()[0] = -2.0f;
  CHECK(std::as_const(array)[0] == -2.0f);
  for (const fa::Index at : {1, 2, 4}) CHECK(fa::is_poison(array[at]));
  const auto doubles = scratch.allocate<double>("doubles", 2);
  CHECK(std::isnan(doubles[0]));
  CHECK(std::isnan(doubles[1]));
  CHECK(scratch.allocate<std::int32_t>("integers", 4)[3] == 0);
}

TEST_CASE("an array that is used again starts as poison again") {
  fa::Scratch scratch;
  for (int round = 0; round < 2; ++round) {
    auto array = scratch.allocate<float>("array", 8);
    CHECK(fa::is_poison(array[7]));
    array[7] = 1.0f;
  }
}

TEST_CASE("an empty array takes nothing") {
  fa::Scratch scratch("SRAM", 0);
  const auto empty = scratch.allocate<float>("empty", 0);
  CHECK(empty.size() == 0);
  CHECK(scratch.peak_bytes() == 0);
}

TEST_CASE("capacity may be used to the last byte, and not beyond") {
  fa::Scratch sram("SRAM", 100);
  CHECK(sram.capacity() == 100);
  const auto first = sram.allocate<float>("k tile", 20);
  {
    const auto second = sram.allocate<float>("v tile", 5);
  }
  CHECK_THROWS_AS(sram.allocate<float>("v tile", 6), std::length_error);
  CHECK_THROWS_AS(sram.allocate<double>("v tile", 3), std::length_error);
  CHECK(sram.bytes_in_use() == 80);
  CHECK(sram.peak_bytes() == 100);
}

TEST_CASE("the capacity error names the memory, the array, what it needs and what is left") {
  fa::Scratch sram("SRAM", 100);
  const auto first = sram.allocate<float>("k tile", 20);
  CHECK_THROWS_WITH(sram.allocate<float>("v tile", 6),
                    ContainsSubstring("SRAM: 'v tile' needs 6 elements of 4 bytes, but 20 of 100 bytes are left"));
}

TEST_CASE("a count whose bytes cannot be counted is an error, not a small allocation") {
  fa::Scratch scratch;
  const fa::Index count = fa::Scratch::unlimited / 4 + 2;  // times 4 it would wrap around to 4 bytes
  CHECK_THROWS_WITH(scratch.allocate<float>("S", count), ContainsSubstring("'S' needs 2305843009213693953 elements"));
  CHECK(scratch.bytes_in_use() == 0);
  CHECK(scratch.peak_bytes() == 0);
}

TEST_CASE("a negative count or capacity is rejected by name") {
  fa::Scratch scratch("HBM");
  CHECK_THROWS_AS(scratch.allocate<float>("P", -1), std::invalid_argument);
  CHECK_THROWS_WITH(scratch.allocate<float>("P", -3), ContainsSubstring("HBM: 'P' of -3 elements: must be at least 0"));
  CHECK(scratch.bytes_in_use() == 0);
  CHECK_THROWS_AS(fa::Scratch("SRAM", -8), std::invalid_argument);
  CHECK_THROWS_WITH(fa::Scratch("SRAM", -8), ContainsSubstring("SRAM: capacity = -8: must be at least 0"));
}

TEST_CASE("memory that ran out was never in use") {
  fa::Scratch scratch;
  const auto kept = scratch.allocate<float>("kept", 2);
  Unaffordable::made = 0;
  CHECK_THROWS_AS(scratch.allocate<Unaffordable>("too much", 3), std::bad_alloc);
  CHECK(scratch.bytes_in_use() == 8);
  CHECK(scratch.peak_bytes() == 8);
}

TEST_CASE("a guard that was written to names the memory, the array and the side") {
  const ReportedGuards guards;
  fa::Scratch sram("SRAM", 100);
  {
    auto k_tile = sram.allocate<float>("k_tile", 6);
    auto v_tile = sram.allocate<float>("v_tile", 0);
    k_tile.data()[6] = 0.0f;
    v_tile.data()[-1] = 1.0f;
    CHECK(k_tile.size() == 6);
    CHECK(fa::is_poison(k_tile[5]));
  }
  CHECK(ReportedGuards::messages ==
        std::vector<std::string>{"SRAM: 'v_tile' of 0 elements was written before its beginning",
                                 "SRAM: 'k_tile' of 6 elements was written past its end"});
  CHECK(sram.peak_bytes() == 24);
  CHECK(sram.total_bytes() == 24);
  CHECK(sram.heap_bytes() == 24 + 2 * 2 * 4 * 4);
}

TEST_CASE("what is written to an array leaves its guards alone") {
  const ReportedGuards guards;
  fa::Scratch scratch;
  {
    auto floats = scratch.allocate<float>("floats", 3);
    for (float& value : floats.span()) value = 1.0f;
    auto doubles = scratch.allocate<double>("doubles", 3);  // without guards
    for (double& value : doubles.span()) value = 1.0;
  }
  CHECK(ReportedGuards::messages.empty());
  CHECK(scratch.heap_bytes() == 36 + 2 * 4 * 4);
}
