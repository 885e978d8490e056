// Poison: what memory holds before anybody wrote to it. It is a NaN, so it spreads through arithmetic and cannot pass a
// comparison; and it has a bit pattern of its own, so that "never written" can be told from "computed as NaN".

#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace fa {

inline constexpr std::uint32_t poison_bits = 0x7fc0'fa11;  // a quiet NaN

inline float poison() { return std::bit_cast<float>(poison_bits); }
inline bool is_poison(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7fff'ffff) == poison_bits;  // also after a change of sign
}

// What an element of type T is before its first write: poison if it can be a NaN, else zero.
template <class T>
T unwritten() {
  if constexpr (std::is_floating_point_v<T>) {
    return poison();
  } else {
    return T{};
  }
}

// An output buffer for a test: a function that forgets an element leaves poison there.
inline std::vector<float> poisoned(std::int64_t count) {
  return std::vector<float>(static_cast<std::size_t>(count), poison());
}

}  // namespace fa
