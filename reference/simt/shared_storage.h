// An array in shared memory, as the emulator keeps it: its elements, each with its shadow, and what it is called.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fa/place.h"
#include "fa/shape.h"
#include "simt/shadow.h"

namespace fa::simt {

inline constexpr int kMostRanks = 3;

struct SharedLayout {
  std::string_view name;  // empty: see declared
  Place declared{};       // of an array without a name: where its declaration stands
  int rank = 1;
  std::array<int, kMostRanks> extents{1, 1, 1};
  Index element_bytes = 4;

  Index elements() const { return Index{extents[0]} * extents[1] * extents[2]; }
  Index bytes() const { return elements() * element_bytes; }
};

struct SharedStorage {
  SharedLayout layout;
  std::byte* data = nullptr;
  Index offset = 0;  // of its first byte, as far as alignment goes: a static array is aligned to any access
  std::vector<Shadow> shadows;
  std::uint32_t block_serial = 0;  // the block that used it last
  int ordinal = 0;                 // among the arrays declared in its line

  std::string name() const;
  std::string text_of_element(Index at) const;  // "k_tile[3][17]"
};

// Fault: an index outside of [0, extent), when `rank` dimensions were left. No storage: a SharedArray of nothing.
[[noreturn, gnu::cold]] void stop_at_index(const SharedStorage* storage, int rank, Index index, int extent);

// Notes an access of the running thread in the element's shadow, or stops. Cold, so that the compiler does not keep a
// kernel's sums in memory across this call.
[[gnu::cold]] void check_shared(SharedStorage& storage, Index at, Access access);

// Fault: an access to `elements` elements from `at` on, not all of which the array has.
[[noreturn, gnu::cold]] void stop_at_span(const SharedStorage& storage, Index at, int elements, Access access);

// How many arrays this OS thread has declared in the same line before: __shared__ float a, b;
int next_ordinal(const Place& declared);

}  // namespace fa::simt
