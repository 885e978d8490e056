// fa/shape.h: extents, the causal mask, the scale, and what is rejected.

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "fa/shape.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr fa::Index kLargestExtent = 2147483647;  // 2³¹ − 1
constexpr fa::Index kLargestTile = 16777216;      // 2²⁴

void check_rejected(const fa::Shape& shape, const std::string& message) {
  CHECK_THROWS_AS(fa::validate(shape, {}), std::invalid_argument);
  CHECK_THROWS_WITH(fa::validate(shape, {}), ContainsSubstring(message));
}

void check_rejected(const fa::Tiles& tiles, const std::string& message) {
  CHECK_THROWS_AS(fa::validate(tiles), std::invalid_argument);
  CHECK_THROWS_WITH(fa::validate(tiles), ContainsSubstring(message));
}

}  // namespace

// ---- Extents

TEST_CASE("elements are counted for each operand, with B, H, Nq, Nk and D all different") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 11};
  CHECK(fa::heads(shape) == 6);
  CHECK(fa::query_rows(shape) == 30);
  CHECK(fa::key_rows(shape) == 42);
  CHECK(fa::query_elements(shape) == 330);
  CHECK(fa::key_elements(shape) == 462);
  CHECK(fa::score_elements(shape) == 210);
}

TEST_CASE("elements are counted in 64 bits") {
  const fa::Shape shape{.B = 64, .H = 16, .Nq = 32768, .Nk = 65536, .D = 128};
  fa::validate(shape, {});
  CHECK(fa::query_elements(shape) == 4294967296);
  CHECK(fa::key_elements(shape) == 8589934592);
  CHECK(fa::score_elements(shape) == 2199023255552);
}

TEST_CASE("every shape that the lessons' tests try is right") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    CAPTURE(shape);
    CHECK_NOTHROW(fa::validate(shape, {}));
    CHECK_NOTHROW(fa::validate(shape, {.causal = true, .scale = -0.5f}));
  }
}

TEST_CASE("an extent below its least is named, with its value and what is allowed") {
  check_rejected({.B = 0}, "B = 0: must be at least 1");
  check_rejected({.H = -2}, "H = -2: must be at least 1");
  check_rejected({.Nq = -1}, "Nq = -1: must be at least 0");
  check_rejected({.Nk = -7}, "Nk = -7: must be at least 0");
  check_rejected({.D = 0}, "D = 0: must be at least 1");
  check_rejected({.Nq = std::numeric_limits<fa::Index>::min()}, "Nq = -9223372036854775808: must be at least 0");
  CHECK_NOTHROW(fa::validate({.Nq = 0, .Nk = 0}, {}));
}

TEST_CASE("an extent above 2^31 - 1 is named, with its value and what is allowed") {
  const fa::Index large = kLargestExtent + 1;
  check_rejected({.B = large}, "B = 2147483648: must be at most 2147483647");
  check_rejected({.H = large}, "H = 2147483648: must be at most 2147483647");
  check_rejected({.Nq = large}, "Nq = 2147483648: must be at most 2147483647");
  check_rejected({.Nk = large}, "Nk = 2147483648: must be at most 2147483647");
  check_rejected({.D = large}, "D = 2147483648: must be at most 2147483647");
  CHECK_NOTHROW(fa::validate(fa::Shape{.B = kLargestExtent}, {}));
  CHECK_NOTHROW(fa::validate(fa::Shape{.D = kLargestExtent}, {}));
}

TEST_CASE("a matrix of 2^63 bytes or more is rejected, be it q, k or S") {
  const fa::Index two30 = 1 << 30, two20 = 1 << 20;  // 2⁶⁰ doubles are 2⁶³ bytes
  const std::string allowed = "must have fewer than 2^63 bytes";
  check_rejected({.Nq = two30, .D = two30}, allowed);
  check_rejected({.Nk = two30, .D = two30}, allowed);
  check_rejected({.Nq = two30, .Nk = two30}, allowed);
  check_rejected({.B = two20, .H = two20, .Nq = two20}, allowed);
  check_rejected({.B = two30, .H = 3, .Nq = 5, .Nk = two30, .D = 7},
                 "B, H, Nq, Nk, D = 1073741824, 3, 5, 1073741824, 7");
  CHECK_NOTHROW(fa::validate({.Nq = two30 - 1, .D = two30}, {}));
  CHECK_NOTHROW(fa::validate({.Nk = two30, .D = two30 - 1}, {}));
  CHECK_NOTHROW(fa::validate({.Nq = two30, .Nk = two30 - 1}, {}));
  CHECK_NOTHROW(fa::validate({.B = two20, .H = two20, .Nq = two20 - 1}, {}));
}

TEST_CASE("tiles of a row or more are right, whether or not they divide anything") {
  check_rejected({.Br = 0, .Bc = 4}, "Br = 0: must be at least 1");
  check_rejected({.Br = 4, .Bc = -3}, "Bc = -3: must be at least 1");
  check_rejected({.Br = kLargestTile + 1, .Bc = 4}, "Br = 16777217: must be at most 16777216");
  check_rejected({.Br = 4, .Bc = kLargestTile + 1}, "Bc = 16777217: must be at most 16777216");
  CHECK_NOTHROW(fa::validate({.Br = 1, .Bc = 1}));
  CHECK_NOTHROW(fa::validate({.Br = 37, .Bc = kLargestTile}));
}

// ---- Scale

TEST_CASE("the scale is 1/sqrt(D) unless another is asked for, zero and negative ones too") {
  CHECK(fa::scale_of({.D = 64}, {}) == 0.125f);
  CHECK(std::abs(double(fa::scale_of({.D = 46}, {})) - 1.0 / std::sqrt(46.0)) < 1e-8);
  for (const float scale : {0.0f, -0.7f, 3.0f}) CHECK(fa::scale_of({.D = 64}, {.scale = scale}) == scale);
}

TEST_CASE("a scale that is not finite is rejected") {
  CHECK_NOTHROW(fa::validate(fa::Shape{}, {.scale = 0.0f}));
  CHECK_THROWS_AS(fa::validate(fa::Shape{}, {.scale = kNaN}), std::invalid_argument);
  CHECK_THROWS_WITH(fa::validate(fa::Shape{}, {.scale = kInfinity}), ContainsSubstring("scale = inf: must be finite"));
  CHECK_THROWS_WITH(fa::validate(fa::Shape{}, {.scale = -kInfinity}),
                    ContainsSubstring("scale = -inf: must be finite"));
}

// ---- The causal mask

TEST_CASE("without a mask every query sees every key") {
  const fa::Shape shape{.Nq = 5, .Nk = 3};
  for (fa::Index i = 0; i < shape.Nq; ++i) CHECK(fa::visible_keys(shape, {}, i) == 3);
}

TEST_CASE("a causal mask shows key j to query i when j <= i + Nk - Nq") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (fa::Index i = 0; i < shape.Nq; ++i) {
      fa::Index seen = 0;
      for (fa::Index j = 0; j < shape.Nk; ++j) seen += j <= i + shape.Nk - shape.Nq ? 1 : 0;
      CAPTURE(shape, i);
      CHECK(fa::visible_keys(shape, {.causal = true}, i) == seen);
    }
  }
}

TEST_CASE("the causal diagonal ends in the bottom-right corner, whichever of Nq and Nk is larger") {
  const fa::Options causal{.causal = true};
  CHECK(fa::visible_keys({.Nq = 1, .Nk = 8}, causal, 0) == 8);
  CHECK(fa::visible_keys({.Nq = 3, .Nk = 8}, causal, 0) == 6);
  CHECK(fa::visible_keys({.Nq = 3, .Nk = 8}, causal, 2) == 8);
  CHECK(fa::visible_keys({.Nq = 2048, .Nk = 1024}, causal, 1023) == 0);
  CHECK(fa::visible_keys({.Nq = 2048, .Nk = 1024}, causal, 1024) == 1);
  CHECK(fa::visible_keys({.Nq = 2048, .Nk = 1024}, causal, 2047) == 1024);
  CHECK(fa::visible_keys({.Nq = 4, .Nk = 0}, causal, 3) == 0);
}

// ---- Operands

TEST_CASE("a null pointer is rejected by name, unless the operand is empty") {
  const float value = 1.0f;
  CHECK_NOTHROW(fa::require_operand("dout", &value, 1));
  CHECK_NOTHROW(fa::require_operand("dout", nullptr, 0));
  CHECK_THROWS_AS(fa::require_operand("dout", nullptr, 12), std::invalid_argument);
  CHECK_THROWS_WITH(fa::require_operand("dout", nullptr, 12),
                    ContainsSubstring("dout = null: must point to 12 elements"));
}

TEST_CASE("an operand of another size is rejected by name, with both sizes") {
  CHECK_NOTHROW(fa::require_elements("k", 12, 12));
  CHECK_THROWS_AS(fa::require_elements("k", 11, 12), std::invalid_argument);
  CHECK_THROWS_WITH(fa::require_elements("k", 11, 12), ContainsSubstring("k has 11 elements: must have 12"));
  CHECK_THROWS_WITH(fa::require_elements("k", 13, 12), ContainsSubstring("k has 13 elements: must have 12"));
}
