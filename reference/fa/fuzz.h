// What the fuzzers of the lessons' contracts share: arguments that libFuzzer's bytes choose, which of them a contract
// accepts, in words of its own, and the comparison of both. lessons/*/fuzz.cpp use it; the preset fuzz builds them.

#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/poison.h"
#include "fa/shape.h"

namespace fa::fuzz {

__extension__ using Wide = __int128;  // holds each product that a contract speaks of

// More than that is not computed: it would take the time of thousands of small calls.
inline constexpr Index most_elements = 100;

// Two of the numbers that a call draws may be anything. The others are ordinary, so that most calls are wrong in one
// place or in none: a call that is wrong in many says nothing about each of them.
class Arguments {
 public:
  Arguments(const std::uint8_t* bytes, std::size_t count) : bytes_(bytes, count), odd_{choice(24), choice(24)} {}

  Index integer() { return is_odd() ? odd_integer() : 1 + choice(5); }
  Index choice(Index choices) { return bytes_.ConsumeIntegralInRange<Index>(0, choices - 1); }

  // Often without queries, without keys, or without both: only then may there be very many heads.
  Shape shape() {
    const Index empty = choice(6), B = integer(), H = integer(), Nq = integer(), Nk = integer();
    return {.B = B, .H = H, .Nq = empty % 5 == 0 ? 0 : Nq, .Nk = empty < 2 ? 0 : Nk, .D = integer()};
  }
  Tiles tiles() {
    const Index Br = integer();
    return {.Br = Br, .Bc = integer()};
  }
  Options options() {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float finite[] = {1.0f, 0.0f, -0.7f};
    constexpr float others[] = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
    Options options{.causal = bytes_.ConsumeBool()};
    if (choice(2) == 0) options.scale = bytes_.PickValueInArray(finite);
    if (is_odd()) options.scale = bytes_.PickValueInArray(others);
    return options;
  }

  // How many elements an operand has that needs `required`. Few, if that is more than there is room for.
  Index elements(Wide required) {
    const Index ordinary = required < 0 || required > 10 * most_elements ? choice(8) : static_cast<Index>(required);
    return !is_odd() ? ordinary : choice(2) == 0 && ordinary > 0 ? ordinary - 1 : ordinary + 1;
  }
  bool is_null() { return is_odd(); }

 private:
  bool is_odd() {
    ++drawn_;
    return drawn_ == odd_[0] || drawn_ == odd_[1];
  }
  Index odd_integer() {
    constexpr Index ends[] = {-1,
                              0,
                              129,
                              65535,
                              65536,
                              Index{1} << 24,
                              (Index{1} << 24) + 1,
                              std::numeric_limits<std::int32_t>::max(),
                              Index{1} << 31,
                              std::numeric_limits<Index>::max(),
                              std::numeric_limits<Index>::min()};
    return choice(8) == 0 ? bytes_.ConsumeIntegral<Index>() : bytes_.PickValueInArray(ends);
  }

  FuzzedDataProvider bytes_;
  Index odd_[2];
  Index drawn_ = 0;
};

// ---- The contracts, as fa/shape.h says them

inline bool between(Index value, Index least, Index most) { return least <= value && value <= most; }

inline Wide product(std::initializer_list<Index> extents) {
  Wide result = 1;
  for (const Index extent : extents) result *= extent;
  return result;
}

// Extents below 2³¹, so that four of them fit into a Wide; operands and S of less than 2⁶³ bytes, in double.
inline bool is_shape(const Shape& shape) {
  constexpr Index most = (Index{1} << 31) - 1;
  const auto& [B, H, Nq, Nk, D] = shape;
  if (!between(B, 1, most) || !between(H, 1, most) || !between(Nq, 0, most) || !between(Nk, 0, most)) return false;
  if (!between(D, 1, most)) return false;
  constexpr Wide bytes = Wide{1} << 63;
  return 8 * product({B, H, Nq, D}) < bytes && 8 * product({B, H, Nk, D}) < bytes &&
         8 * product({B, H, Nq, Nk}) < bytes;
}
inline bool is_options(const Options& options) { return !options.scale || std::isfinite(*options.scale); }
inline bool is_tiles(const Tiles& tiles) {
  return between(tiles.Br, 1, Index{1} << 24) && between(tiles.Bc, 1, Index{1} << 24);
}

// Elements that a shape asks for; of one that is none, none.
inline Wide queries_of(const Shape& of) { return is_shape(of) ? product({of.B, of.H, of.Nq, of.D}) : 0; }
inline Wide keys_of(const Shape& of) { return is_shape(of) ? product({of.B, of.H, of.Nk, of.D}) : 0; }
inline Wide rows_of(const Shape& of) { return is_shape(of) ? product({of.B, of.H, of.Nq}) : 0; }
inline Wide scores_of(const Shape& of) { return is_shape(of) ? product({of.B, of.H, of.Nq, of.Nk}) : 0; }

// Small enough to be run. `heads`: fewer, where a block takes the emulator long.
inline bool is_small(const Shape& of, Index heads = 4) {
  return product({of.B, of.H}) <= heads && queries_of(of) <= most_elements && keys_of(of) <= most_elements &&
         scores_of(of) <= most_elements;
}

// ---- What must happen

// Which exceptions the contract names for these arguments. Of two, either may be thrown; with none the call must
// succeed.
struct Expected {
  bool invalid = false;   // std::invalid_argument
  bool too_long = false;  // std::length_error
};

[[noreturn]] inline void stop(const std::string& what) {
  std::cerr << "CONTRACT BROKEN: " << what << '\n';
  std::abort();
}

inline std::string in_words(const Shape& shape, const Options& options, const Tiles& tiles) {
  std::ostringstream text;
  text << "B=" << shape.B << " H=" << shape.H << " Nq=" << shape.Nq << " Nk=" << shape.Nk << " D=" << shape.D
       << " Br=" << tiles.Br << " Bc=" << tiles.Bc << (options.causal ? " causal" : "");
  if (options.scale) text << " scale=" << *options.scale;
  return text.str();
}

// Whether the call succeeded. Stops the program if it ends in a way that is not expected.
template <class Call>
bool succeeds(Call call, const Expected& expected, const std::string& arguments) {
  std::string thrown;
  bool allowed = false;
  try {
    call();
  } catch (const std::invalid_argument& error) {
    thrown = std::string("std::invalid_argument: ") + error.what(), allowed = expected.invalid;
  } catch (const std::length_error& error) {
    thrown = std::string("std::length_error: ") + error.what(), allowed = expected.too_long;
  } catch (const std::exception& error) {
    thrown = std::string("another exception: ") + error.what();
  }
  if (!thrown.empty() && !allowed) stop(arguments + " is rejected with " + thrown);
  if (thrown.empty() && (expected.invalid || expected.too_long)) stop(arguments + " is accepted");
  return thrown.empty();
}

// An output: nothing of it is written after a rejection, and all of it otherwise.
template <class Elements>
void check_output(std::string_view name, const Elements& elements, bool accepted, const std::string& arguments) {
  for (const auto& element : elements) {
    if (is_poison(element) == accepted) {
      stop(arguments + ": " + std::string(name) +
           (accepted ? " is not written whole" : " is written, though rejected"));
    }
  }
}

}  // namespace fa::fuzz
