// The check of gradients that benchmarks and profiles rely on. It looks at all of the first and the last head.

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/device.h"
#include "fa/head_check.h"
#include "fa/testing.h"

namespace {

const fa::Shape shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 3};
const fa::Options causal{.causal = true};

// Right gradients, for a test to spoil.
struct Results {
  std::vector<float> dq, dk, dv;

  explicit Results(const fa::Inputs& inputs) {
    const auto exact = fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, causal);
    dq.assign(exact.dq.begin(), exact.dq.end());
    dk.assign(exact.dk.begin(), exact.dk.end());
    dv.assign(exact.dv.begin(), exact.dv.end());
  }
  int check(const fa::Inputs& inputs) const {
    return fa::HeadCheck(inputs, shape, causal)
        .check("it", fa::DeviceBuffer<float>("dq", dq), fa::DeviceBuffer<float>("dk", dk),
               fa::DeviceBuffer<float>("dv", dv));
  }
};

}  // namespace

TEST_CASE("right gradients pass, and the rows of two heads are counted") {
  const fa::Inputs inputs = fa::make_inputs(shape);
  CHECK(Results(inputs).check(inputs) == 2 * (5 + 7 + 7));
}

TEST_CASE("a wrong or unwritten element of the first or last head is named") {
  const fa::Inputs inputs = fa::make_inputs(shape);
  const auto check_throws = [&](const Results& wrong, const std::string& text) {
    CHECK_THROWS_MATCHES(wrong.check(inputs), std::runtime_error,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(text)));
  };
  Results wrong(inputs);
  wrong.dk[1] += 1.0f;
  check_throws(wrong, "it: wrong in head 0: dk[j=0, d=1]");
  wrong = Results(inputs);
  wrong.dq.back() = fa::poisoned(1)[0];
  check_throws(wrong, "it: wrong in head 5: dq[i=4, d=2]");
  wrong = Results(inputs);
  wrong.dv.back() = -wrong.dv.back();
  check_throws(wrong, "it: wrong in head 5: dv[j=6, d=2]");
}
