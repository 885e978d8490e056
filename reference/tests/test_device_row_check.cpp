// The check of some rows that benchmarks and profiles rely on: the first and last query of the first and last head, and
// two within.

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/device.h"
#include "fa/half.h"
#include "fa/row_check.h"
#include "fa/testing.h"

namespace {

const fa::Shape shape{.B = 2, .H = 2, .Nq = 6, .Nk = 9, .D = 5};
const fa::Options causal{.causal = true};

std::vector<float> right(const fa::Inputs& inputs, const fa::Shape& of) {
  const std::vector<double> exact = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, of, causal).out;
  return {exact.begin(), exact.end()};
}

template <class T = float>
int check(const fa::Inputs& inputs, const std::vector<float>& out, double unit = 0.0) {
  const fa::DeviceBuffer<T> written("out", std::vector<T>(out.begin(), out.end()));
  return fa::check_rows("it", inputs.q, inputs.k, inputs.v, written, shape, causal, unit);
}

void check_throws(const fa::Inputs& inputs, const std::vector<float>& wrong, const std::string& text) {
  CHECK_THROWS_MATCHES(check(inputs, wrong), std::runtime_error,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(text)));
}

}  // namespace

TEST_CASE("right rows pass, and are counted") {
  const fa::Inputs inputs = fa::make_inputs(shape);
  CHECK(check(inputs, right(inputs, shape)) == 6);
}

TEST_CASE("a wrong or unwritten element of a row that is looked at is named") {
  const fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> wrong = right(inputs, shape);
  wrong[2] += 1.0f;
  check_throws(inputs, wrong, "it: wrong in head 0, query 0: out[d=2]");
  wrong = right(inputs, shape);
  wrong.back() = fa::poison();
  check_throws(inputs, wrong, "it: wrong in head 3, query 5: out[d=4]: expected");
}

TEST_CASE("operands of fewer heads begin again after the last one") {
  const fa::Shape two_heads{.B = 1, .H = 2, .Nq = shape.Nq, .Nk = shape.Nk, .D = shape.D};
  const fa::Inputs inputs = fa::make_inputs(two_heads);
  std::vector<float> out = right(inputs, two_heads);
  const std::vector<float> again = out;
  out.insert(out.end(), again.begin(), again.end());
  CHECK(check(inputs, out) == 6);
  out[out.size() / 2 + std::size_t(shape.Nq * shape.D)] += 1.0f;
  check_throws(inputs, out, "it: wrong in head 3, query 0: out[d=0]");
}

TEST_CASE("a result in half precision passes with the unit roundoff of its format, and with no smaller one") {
  const fa::Inputs inputs = fa::make_inputs(shape);
  const std::vector<float> out = right(inputs, shape);
  CHECK(check<fa::half>(inputs, out, fa::unit_roundoff<fa::half>) == 6);
  CHECK(check<fa::bfloat16>(inputs, out, fa::unit_roundoff<fa::bfloat16>) == 6);
  CHECK_THROWS_AS(check<fa::half>(inputs, out), std::runtime_error);
}
