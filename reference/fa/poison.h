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

// Of 16 bits, in either format of half precision (fa/half.h): a NaN, too, with a pattern of its own.
inline constexpr std::uint16_t half_poison_bits = 0x7fb1;

template <class T>
concept SixteenBitFloat = sizeof(T) == 2 && std::is_class_v<T> && requires(const T& value) { float(value); };

template <SixteenBitFloat T>
bool is_poison(const T& value) {
  return (std::bit_cast<std::uint16_t>(value) & 0x7fff) == half_poison_bits;
}

// What an element of type T is before its first write: poison if it can be a NaN, else zero.
template <class T>
T unwritten() {
  if constexpr (std::is_floating_point_v<T>) {
    return poison();
  } else if constexpr (SixteenBitFloat<T>) {
    return std::bit_cast<T>(half_poison_bits);
  } else {
    return T{};
  }
}

// An output buffer for a test: a function that forgets an element leaves poison there.
inline std::vector<float> poisoned(std::int64_t count) {
  return std::vector<float>(static_cast<std::size_t>(count), poison());
}

}  // namespace fa
