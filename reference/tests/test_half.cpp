// fa/half.h: the two formats of half precision on the host, number by number, and their poison.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fa/half.h"
#include "fa/poison.h"
#include "fa/testing.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What IEEE 754 makes of the bits of a format. `infinity`: the bits of infinity, the first that are no number.
struct Format {
  int fraction_bits, bias;
  unsigned infinity;
  unsigned one;
};
constexpr Format kHalf{10, 15, 0x7c00, 0x3c00};
constexpr Format kBfloat16{7, 127, 0x7f80, 0x3f80};

// The number of these bits, without sign; infinity's would be the next one after the largest.
double magnitude(const Format& format, unsigned bits) {
  const int exponent = int(bits >> format.fraction_bits);
  const unsigned fraction = bits & ((1u << format.fraction_bits) - 1);
  const unsigned leading = exponent == 0 ? 0 : 1u << format.fraction_bits;  // 0: zero and the subnormal numbers
  return std::ldexp(fraction + leading, std::max(exponent, 1) - format.bias - format.fraction_bits);
}

template <class T>
T of_bits(unsigned bits) {
  return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
}
template <class T>
unsigned bits_of(const T& value) {
  return std::bit_cast<std::uint16_t>(value);
}

// Calls it with fa::half and with fa::bfloat16.
template <class Call>
void in_both_formats(Call call) {
  {
    INFO("fa::half");
    call(fa::half(), kHalf);
  }
  INFO("fa::bfloat16");
  call(fa::bfloat16(), kBfloat16);
}

// Not folded by the compiler, which may choose another NaN than the machine.
float computed_nan() {
  volatile float infinity = kInfinity;
  return infinity - infinity;
}

}  // namespace

TEST_CASE("half precision: each of the 65,536 patterns stands for the right number, and comes back from it") {
  in_both_formats([]<class T>(T, const Format& format) {
    int wrong = 0;
    for (unsigned bits = 0; bits < format.infinity; ++bits) {
      const auto number = float(magnitude(format, bits));
      wrong += float(of_bits<T>(bits)) != number || bits_of(T(number)) != bits;
      wrong += float(of_bits<T>(bits | 0x8000)) != -number || bits_of(T(-number)) != (bits | 0x8000);
    }
    CHECK(wrong == 0);
    CHECK(float(of_bits<T>(format.infinity)) == kInfinity);
    CHECK(bits_of(T(kInfinity)) == format.infinity);
    CHECK(bits_of(T(-kInfinity)) == (format.infinity | 0x8000));
    for (unsigned bits = format.infinity + 1; bits < 0x8000; ++bits) {
      wrong += !std::isnan(float(of_bits<T>(bits))) || !std::isnan(float(of_bits<T>(bits | 0x8000)));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("half precision: between any two neighbors the nearer one is taken, and of two as near the even one") {
  in_both_formats([]<class T>(T, const Format& format) {
    int wrong = 0;
    for (unsigned lower = 0; lower < format.infinity; ++lower) {  // subnormal numbers, and past the largest one
      const auto middle = float((magnitude(format, lower) + magnitude(format, lower + 1)) / 2);
      const unsigned even = lower + lower % 2;
      wrong += bits_of(T(middle)) != even || bits_of(T(-middle)) != (even | 0x8000);
      wrong += bits_of(T(std::nextafter(middle, 0.0f))) != lower;
      wrong += bits_of(T(std::nextafter(middle, kInfinity))) != lower + 1;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("half precision: the largest and the smallest numbers, worked by hand") {
  CHECK(float(fa::half(65504.0f)) == 65504.0f);
  CHECK(float(fa::half(65519.0f)) == 65504.0f);
  CHECK(float(fa::half(65520.0f)) == kInfinity);
  CHECK(float(fa::half(-1e30f)) == -kInfinity);
  CHECK(float(fa::half(0x1p-24f)) == 0x1p-24f);  // subnormal
  CHECK(float(fa::half(0x1p-25f)) == 0.0f);      // as near to 0 as to 2^-24
  CHECK(float(fa::half(0x1.8p-24f)) == 0x1p-23f);
  CHECK(std::signbit(float(fa::half(-0x1p-30f))));

  CHECK(float(fa::bfloat16(0x1.fep127f)) == 0x1.fep127f);
  CHECK(float(fa::bfloat16(std::numeric_limits<float>::max())) == kInfinity);
  CHECK(float(fa::bfloat16(65520.0f)) == 65536.0f);
  CHECK(float(fa::bfloat16(0x1p-133f)) == 0x1p-133f);
  CHECK(float(fa::bfloat16(0x1p-134f)) == 0.0f);
}

TEST_CASE("half precision: the unit roundoff is half the distance from 1 to the next number") {
  in_both_formats([]<class T>(T, const Format& format) {
    CHECK(2 * fa::unit_roundoff<T> == magnitude(format, format.one + 1) - 1);
    CHECK(float(T(float(1 + fa::unit_roundoff<T>))) == 1.0f);
    CHECK(float(T(float(1 + 1.01 * fa::unit_roundoff<T>))) > 1.0f);
  });
}

TEST_CASE("half precision: a row is rounded and widened number by number") {
  in_both_formats([]<class T>(T, const Format&) {
    const std::vector<float> values{1.0f, -2.5f, 1.0f / 3, 1e30f, -0.0f, kInfinity};
    const std::vector<T> rounded = fa::rounded<T>(values);
    const std::vector<float> widened = fa::widened<T>(rounded);
    REQUIRE(widened.size() == values.size());
    for (std::size_t at = 0; at < values.size(); ++at) {
      CHECK(bits_of(rounded[at]) == bits_of(T(values[at])));
      CHECK(widened[at] == float(T(values[at])));
    }
    CHECK(fa::rounded<T>({}).empty());
    CHECK(fa::widened<T>({}).empty());
  });
}

TEST_CASE("half precision: poison is a NaN that is recognized, also after a change of sign, and stays poison") {
  in_both_formats([]<class T>(T, const Format&) {
    const T poison = fa::unwritten<T>();
    CHECK(std::isnan(float(poison)));
    CHECK(fa::is_poison(poison));
    CHECK(fa::is_poison(of_bits<T>(bits_of(poison) | 0x8000)));
    const std::vector<float> widened = fa::widened<T>(std::vector<T>{T(1.0f), poison});
    CHECK(widened[0] == 1.0f);
    CHECK(fa::is_poison(widened[1]));
  });
}

TEST_CASE("half precision: no number and no NaN that was computed is poison") {
  in_both_formats([]<class T>(T, const Format& format) {
    int poisons = 0;
    for (unsigned bits = 0; bits < 0x8000; ++bits) poisons += fa::is_poison(of_bits<T>(bits));
    CHECK(poisons == 1);
    CHECK_FALSE(fa::is_poison(of_bits<T>(format.infinity)));
    for (const float nan : {computed_nan(), -computed_nan(), std::numeric_limits<float>::quiet_NaN(), fa::poison()}) {
      const T rounded(nan);
      CHECK(std::isnan(float(rounded)));
      CHECK_FALSE(fa::is_poison(rounded));
      CHECK_FALSE(fa::is_poison(fa::widened<T>(std::vector<T>{rounded})[0]));
    }
  });
}

TEST_CASE("half precision: what is of 16 bits and no floating-point number starts as zero") {
  enum class Color : std::uint16_t { red };
  CHECK(fa::unwritten<std::int16_t>() == 0);
  CHECK(fa::unwritten<Color>() == Color::red);
}
