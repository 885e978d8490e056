// fa/testing.h and fa/todo.h: what the tests of the lessons stand on.

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "fa/testing.h"
#include "fa/todo.h"

namespace {

template <class Value>
std::string text(const Value& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

}  // namespace

TEST_CASE("check_close accepts what agrees") {
  fa::check_close("x", std::vector<float>{1, 2.5f}, std::vector<double>{1, 2}, {{"at", 2}},
                  {.absolute = 0.5, .relative = 0, .normwise = 1});
}

TEST_CASE("check_close fails the test that it stands in", "[!shouldfail]") {
  fa::check_close("x", std::vector<float>{1, 2.5f}, std::vector<double>{1, 2}, {{"at", 2}},
                  {.absolute = 0.25, .relative = 0, .normwise = 1});
}

TEST_CASE("an exercise that nobody started says so") {
  static_assert(std::is_base_of_v<std::logic_error, fa::NotStarted>);
  CHECK_THROWS_AS(fa::todo("Step 1: scores"), fa::NotStarted);
  CHECK_THROWS_WITH(fa::todo("Step 1: scores"), "not started: Step 1: scores");
}

TEST_CASE("the slope of a power law is its exponent, whatever the factor") {
  const std::vector<double> n{64, 128, 256, 777};
  for (const double exponent : {-1.0, 0.0, 1.0, 2.0}) {
    std::vector<double> y;
    for (const double x : n) y.push_back(3.0 * std::pow(x, exponent));
    CAPTURE(exponent);
    CHECK(std::abs(fa::log_log_slope(n, y) - exponent) < 1e-12);
  }
}

TEST_CASE("the slope lies between those of its parts when they differ") {
  const std::vector<double> n{64, 128, 256}, bytes{64 + 64 * 64, 128 + 128 * 128, 256 + 256 * 256};
  CHECK(fa::log_log_slope(n, bytes) < 2.0);
  CHECK(fa::log_log_slope(n, bytes) > 1.97);
}

TEST_CASE("messages show shapes, options and tiles by name") {
  CHECK(text(fa::Shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 11}) == "B=2 H=3 Nq=5 Nk=7 D=11");
  CHECK(text(fa::Options{}) == "not causal");
  CHECK(text(fa::Options{.causal = true, .scale = 0.5f}) == "causal scale=0.5");
  CHECK(text(fa::Tiles{.Br = 4, .Bc = 9}) == "Br=4 Bc=9");
}

TEST_CASE("the ragged shapes hold each kind of shape that broke attention elsewhere") {
  const auto some = [](auto&& is_one) {
    for (const fa::Shape& shape : fa::ragged_shapes) {
      if (is_one(shape)) return true;
    }
    return false;
  };
  CHECK(some([](const fa::Shape& s) { return s.Nq == 1 && s.Nk == 1 && s.D == 1; }));
  CHECK(some([](const fa::Shape& s) { return s.Nq == 1 && s.Nk == 1 && s.D == 16; }));
  CHECK(some([](const fa::Shape& s) { return s.Nq == 1 && s.Nk > 1; }));
  CHECK(some([](const fa::Shape& s) { return s.Nq > s.Nk && s.Nk > 1; }));
  CHECK(some([](const fa::Shape& s) { return s.Nk > s.Nq && s.Nq > 1; }));
  CHECK(some([](const fa::Shape& s) { return s.B > 1 && s.H > 2 && s.B != s.H && s.Nq * s.Nk > 0; }));
  CHECK(some([](const fa::Shape& s) { return s.Nk == 0 && s.Nq > 0; }));
  CHECK(some([](const fa::Shape& s) { return s.Nq == 0 && s.Nk > 0; }));
  CHECK(some([](const fa::Shape& s) { return s.D == 63; }));
  CHECK(some([](const fa::Shape& s) { return s.Nq == 127; }));
}
