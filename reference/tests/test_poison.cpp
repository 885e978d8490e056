// fa/poison.h: memory that nobody wrote can be told from every number, and from a NaN that was computed.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fa/poison.h"
#include "fa/testing.h"

namespace {

// Not folded by the compiler, which may choose another NaN than the machine.
float computed_nan() {
  volatile float infinity = std::numeric_limits<float>::infinity();
  return infinity - infinity;
}

}  // namespace

TEST_CASE("poison is a NaN that is recognized") {
  CHECK(std::isnan(fa::poison()));
  CHECK(fa::is_poison(fa::poison()));
}

TEST_CASE("no number and no other NaN is poison") {
  for (const float value : {0.0f, -0.0f, 1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), computed_nan()}) {
    CHECK_FALSE(fa::is_poison(value));
  }
}

TEST_CASE("arithmetic with poison gives a NaN, never a number") {
  volatile float poison = fa::poison();
  CHECK(std::isnan(poison + 1.0f));
  CHECK(std::isnan(poison * 0.0f));
  CHECK(std::isnan(double(poison) - 1.0));
}

TEST_CASE("what can be a NaN starts as poison, the rest as zero") {
  CHECK(fa::is_poison(fa::unwritten<float>()));
  CHECK(std::isnan(fa::unwritten<double>()));
  CHECK(fa::is_poison(float(fa::unwritten<double>())));
  CHECK(fa::unwritten<int>() == 0);
  CHECK(fa::unwritten<std::int64_t>() == 0);
}

TEST_CASE("a poisoned buffer has the size asked for, and holds nothing but poison") {
  const std::vector<float> buffer = fa::poisoned(5);
  CHECK(buffer.size() == 5);
  for (const float value : buffer) CHECK(fa::is_poison(value));
  CHECK(fa::poisoned(0).empty());
}
