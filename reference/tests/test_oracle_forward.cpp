// fa/oracle.h, forward: against numbers worked by hand, against a second opinion, and by its properties.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "fa/oracle.h"
#include "fa/testing.h"
#include "second_opinion.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

fa::ForwardOracle oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  return fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
}

// One query whose scores and values are given: D = 1, q = 1, scale = 1.
fa::ForwardOracle row(const std::vector<float>& scores, const std::vector<float>& values) {
  const fa::Shape shape{.Nq = 1, .Nk = fa::Index(scores.size()), .D = 1};
  return fa::attention_forward_oracle(std::vector<float>{1.0f}, scores, values, shape, {.scale = 1.0f});
}

bool near(double got, double expected, double allowed) { return std::abs(got - expected) <= allowed; }

}  // namespace

// ---- By hand

TEST_CASE("scores 2, 1, 0 with values 1, 3, 5 give the numbers worked by hand, in either order of the keys") {
  for (const fa::ForwardOracle& result : {row({2, 1, 0}, {1, 3, 5}), row({0, 2, 1}, {5, 1, 3})}) {
    CHECK(result.m[0] == 2.0);
    CHECK(near(result.l[0], 1.503215, 5e-7));
    CHECK(near(result.out[0], 1.849579, 5e-7));
    CHECK(near(result.lse[0], 2.407606, 5e-7));
  }
}

TEST_CASE("three queries over two columns give the numbers worked by hand") {
  const std::vector<float> q{1, 0, 0, 1, 1, 1}, k{2, 0, 0, 1, -1, 1}, v{1, 10, 3, 20, 5, 30};
  const fa::ForwardOracle result = fa::attention_forward_oracle(q, k, v, {.Nq = 3, .Nk = 3, .D = 2}, {.scale = 1.0f});
  CHECK(largest_difference(result.m, std::vector<double>{2, 1, 2}) == 0.0);
  CHECK(largest_difference(result.l, std::vector<double>{1.185122, 2.367879, 1.503215}) < 1e-6);
  CHECK(largest_difference(result.lse, std::vector<double>{2.169846, 1.861995, 2.407606}) < 1e-6);
  CHECK(largest_difference(result.out,
                           std::vector<double>{1.396431, 11.982153, 3.533913, 22.669564, 1.849579, 14.247896}) < 1e-6);
}

TEST_CASE("operands may be doubles, and may be moved by less than a float can hold") {
  const fa::Shape shape{.B = 2, .H = 1, .Nq = 3, .Nk = 4, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const auto doubles = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const std::vector<double> q = doubles(inputs.q), v = doubles(inputs.v);
  std::vector<double> k = doubles(inputs.k);
  const fa::ForwardOracle expected = oracle(inputs, shape, {.causal = true});
  const fa::ForwardOracle same = fa::attention_forward_oracle(q, k, v, shape, {.causal = true});
  CHECK(same.out == expected.out);
  CHECK(same.lse == expected.lse);
  k[0] += 1e-12;
  CHECK(fa::attention_forward_oracle(q, k, v, shape, {.causal = true}).out != expected.out);
  CHECK_THROWS_AS(fa::attention_forward_oracle(q, v, std::vector<double>{}, shape, {}), std::invalid_argument);
}

// ---- Against the second opinion

TEST_CASE("out and lse agree with a second implementation, whatever the shape, mask and scale") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    const fa::Inputs inputs = fa::make_inputs(shape);
    for (const fa::Options& options : {fa::Options{}, fa::Options{.causal = true}, fa::Options{.scale = -1.3f},
                                       fa::Options{.causal = true, .scale = 0.0f}}) {
      CAPTURE(shape, options);
      const fa::ForwardOracle result = oracle(inputs, shape, options);
      const SecondOpinion second(inputs, shape, options);
      CHECK(largest_difference(result.out, second.out()) < 1e-12);
      CHECK(largest_difference(result.lse, second.all_lse()) < 1e-12);
    }
  }
}

TEST_CASE("out and lse agree with a second implementation on inputs of every kind") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 9, .Nk = 14, .D = 5};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    const fa::Inputs inputs = fa::make_inputs(shape, kind);
    const fa::ForwardOracle result = oracle(inputs, shape, {.causal = true});
    const SecondOpinion second(inputs, shape, {.causal = true});
    CHECK(largest_difference(result.out, second.out()) < 1e-9);  // scores of 1e4 are exact to 1e-12
    CHECK(largest_difference(result.lse, second.all_lse()) < 1e-9);
  }
}

// ---- Properties

TEST_CASE("m is the largest score, and lse is m + ln l") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 7, .Nk = 6, .D = 3};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::ForwardOracle result = oracle(inputs, shape, {});
  const SecondOpinion second(inputs, shape, {});
  for (fa::Index at = 0; at < fa::query_rows(shape); ++at) {
    double largest = second.score(0, at / 7, at % 7, 0);
    for (fa::Index j = 1; j < 6; ++j) largest = std::max(largest, second.score(0, at / 7, at % 7, j));
    CHECK(near(result.m[std::size_t(at)], largest, 1e-14));
    CHECK(near(result.lse[std::size_t(at)], largest + std::log(result.l[std::size_t(at)]), 1e-14));
  }
}

TEST_CASE("lse is the logarithm of the sum, to the last digits, at logits of a thousand either way") {
  for (const float size : {-1e3f, 1e3f}) {
    std::vector<float> scores = fa::normal_values(40, 3);
    for (float& score : scores) score += size;
    double expected = scores[0];
    for (std::size_t j = 1; j < scores.size(); ++j) expected = SecondOpinion::log_add(expected, double(scores[j]));
    CHECK(near(row(scores, fa::normal_values(40, 4)).lse[0], expected, 1e-12));
  }
}

TEST_CASE("a shift of a row's scores shifts m and lse, and nothing else") {
  const std::vector<float> scores{0.5f, -1.25f, 2.75f, 0.25f}, values{3, -1, 4, 1.5f};
  const fa::ForwardOracle plain = row(scores, values);
  for (const float shift : {-65536.0f, -96.0f, 96.0f, 65536.0f}) {  // exact in float
    std::vector<float> shifted = scores;
    for (float& score : shifted) score += shift;
    const fa::ForwardOracle result = row(shifted, values);
    CHECK(result.m[0] == plain.m[0] + double(shift));
    CHECK(result.l[0] == plain.l[0]);
    CHECK(result.out[0] == plain.out[0]);
    CHECK(near(result.lse[0], plain.lse[0] + double(shift), 1e-10));
  }
}

TEST_CASE("the order of the keys does not matter") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 4, .Nk = 5, .D = 3};
  const fa::Inputs inputs = fa::make_inputs(shape);
  fa::Inputs turned = inputs;  // key 1 comes first, key 0 last
  std::rotate(turned.k.begin(), turned.k.begin() + 3, turned.k.end());
  std::rotate(turned.v.begin(), turned.v.begin() + 3, turned.v.end());
  const fa::ForwardOracle result = oracle(turned, shape, {}), expected = oracle(inputs, shape, {});
  CHECK(largest_difference(result.m, expected.m) == 0.0);
  CHECK(largest_difference(result.out, expected.out) < 1e-14);
  CHECK(largest_difference(oracle(turned, shape, {.causal = true}).out, oracle(inputs, shape, {.causal = true}).out) >
        0.1);
}

TEST_CASE("equal logits give the mean of the visible values, and so does a scale of zero") {
  CHECK(near(row({-7, -7, -7, -7}, {1, 2, 4, 8}).out[0], 3.75, 1e-15));
  CHECK(row({-7, -7, -7, -7}, {1, 2, 4, 8}).l[0] == 4.0);
  const std::vector<float> q{3, -1, 2}, k{5, 0.5f, -4}, v{1, 2, 6};
  const fa::ForwardOracle result =
      fa::attention_forward_oracle(q, k, v, {.Nq = 3, .Nk = 3}, {.causal = true, .scale = 0.0f});
  CHECK(largest_difference(result.out, std::vector<double>{1, 1.5, 3}) < 1e-15);
}

TEST_CASE("a one-hot row gives that value exactly") {
  CHECK(row({-1e4f, 1e4f, 0}, {3, 0.1f, -2}).out[0] == double(0.1f));
  CHECK(row({-1e4f}, {0.3f}).out[0] == double(0.3f));
}

TEST_CASE("the default scale is the float nearest to 1/sqrt(D)") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 3, .Nk = 4, .D = 7};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::Options given{.scale = 1.0f / std::sqrt(7.0f)};
  CHECK(largest_difference(oracle(inputs, shape, {}).out, oracle(inputs, shape, given).out) == 0.0);
}

// ---- Rows that see nothing, infinities, NaN

TEST_CASE("a row that sees no key gives out = 0, m = -inf, l = 0, lse = -inf") {
  const fa::Shape no_keys{.B = 1, .H = 2, .Nq = 3, .Nk = 0, .D = 2};
  const fa::Shape late_keys{.B = 1, .H = 2, .Nq = 3, .Nk = 1, .D = 2};  // causal: queries 0 and 1 see nothing
  for (const fa::Shape& shape : {no_keys, late_keys}) {
    CAPTURE(shape);
    const fa::ForwardOracle result = oracle(fa::make_inputs(shape), shape, {.causal = true});
    for (std::size_t at = 0; at < 6; ++at) {
      const bool sees_a_key = shape.Nk == 1 && at % 3 == 2;
      CAPTURE(at, sees_a_key);
      CHECK((result.m[at] != fa::negative_infinity) == sees_a_key);
      CHECK(result.l[at] == (sees_a_key ? 1.0 : 0.0));
      CHECK((result.lse[at] != fa::negative_infinity) == sees_a_key);
      CHECK((result.out[2 * at] != 0.0) == sees_a_key);
      CHECK((result.out[2 * at + 1] != 0.0) == sees_a_key);
    }
  }
}

TEST_CASE("no queries give an empty result") {
  const fa::Shape shape{.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 4};
  const fa::ForwardOracle result = oracle(fa::make_inputs(shape), shape, {.causal = true});
  CHECK(result.out.size() + result.m.size() + result.l.size() + result.lse.size() == 0);
}

TEST_CASE("a score of -inf weighs nothing, and a row of such scores sees nothing") {
  CHECK(near(row({2, -kInfinity, 1, 0}, {1, 9, 3, 5}).out[0], 1.849579, 5e-7));
  CHECK(near(row({-kInfinity, 2, 1, 0}, {9, 1, 3, 5}).lse[0], 2.407606, 5e-7));
  const fa::ForwardOracle nothing = row({-kInfinity, -kInfinity}, {3, 4});
  CHECK(nothing.out[0] == 0.0);
  CHECK(nothing.m[0] == fa::negative_infinity);
  CHECK(nothing.l[0] == 0.0);
  CHECK(nothing.lse[0] == fa::negative_infinity);
}

TEST_CASE("a NaN or a score of +inf makes out, l and lse NaN, wherever it stands in the row") {
  for (const float bad : {kNaN, kInfinity}) {
    for (const std::vector<float>& scores :
         {std::vector<float>{bad, 2, -kInfinity}, {2, bad, 1}, {2, -kInfinity, bad}}) {
      const fa::ForwardOracle result = row(scores, {1, 3, 5});
      CHECK(std::isnan(result.out[0]));
      CHECK_FALSE(std::isfinite(result.m[0]));
      CHECK(std::isnan(result.l[0]));
      CHECK(std::isnan(result.lse[0]));
    }
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 4, .Nk = 5, .D = 3};
  fa::Inputs in_query = fa::make_inputs(shape), in_key = in_query, in_value = in_query;
  in_query.q[12 + 3] = kNaN;   // head 1, query 1
  in_key.k[15 + 10] = kNaN;    // head 1, key 3
  in_value.v[15 + 10] = kNaN;  // head 1, key 3, column 1
  for (const bool causal : {false, true}) {
    const fa::Options options{.causal = causal};
    const fa::ForwardOracle query = oracle(in_query, shape, options), key = oracle(in_key, shape, options),
                            value = oracle(in_value, shape, options);
    for (fa::Index at = 0; at < fa::query_elements(shape); ++at) {
      const fa::Index head = at / 12, i = at / 3 % 4, d = at % 3;
      const bool sees_key_3 = head == 1 && (!causal || i >= 2);  // 3 ≤ i + 5 − 4
      CAPTURE(causal, head, i, d);
      CHECK(std::isnan(query.out[std::size_t(at)]) == (head == 1 && i == 1));
      CHECK(std::isnan(key.out[std::size_t(at)]) == sees_key_3);
      CHECK(std::isnan(value.out[std::size_t(at)]) == (sees_key_3 && d == 1));
    }
  }
}

TEST_CASE("an operand of another size, or a shape that is not valid, is rejected by name") {
  using Catch::Matchers::ContainsSubstring;
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 2, .Nk = 3, .D = 2};
  const std::vector<float> four(4), six(6);
  CHECK_NOTHROW(fa::attention_forward_oracle(four, six, six, shape, {}));
  CHECK_THROWS_WITH(fa::attention_forward_oracle(six, six, six, shape, {}), ContainsSubstring("q has 6 elements"));
  CHECK_THROWS_WITH(fa::attention_forward_oracle(four, four, six, shape, {}), ContainsSubstring("k has 4 elements"));
  CHECK_THROWS_WITH(fa::attention_forward_oracle(four, six, four, shape, {}), ContainsSubstring("v has 4 elements"));
  CHECK_THROWS_WITH(fa::attention_forward_oracle(four, six, six, {.D = 0}, {}), ContainsSubstring("D = 0"));
  CHECK_THROWS_AS(fa::attention_forward_oracle(four, six, six, shape, {.scale = kInfinity}), std::invalid_argument);
}
