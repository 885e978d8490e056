// fa/inputs.h: the same numbers everywhere, and each kind is what its comment says.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/inputs.h"
#include "fa/testing.h"

namespace {

const fa::Shape kShape{.B = 2, .H = 3, .Nq = 13, .Nk = 17, .D = 11};

// The mean of x^power.
double moment(const std::vector<float>& values, int power) {
  double sum = 0.0;
  for (const float value : values) sum += std::pow(double(value), power);
  return sum / double(values.size());
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  const std::size_t count = std::min(a.size(), b.size());
  for (std::size_t at = 0; at < count; ++at) sum += double(a[at]) * double(b[at]);
  return sum / double(count);
}

std::size_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t count = a.size() == b.size() ? 0 : a.size() + b.size();
  for (std::size_t at = 0; at < std::min(a.size(), b.size()); ++at) count += a[at] != b[at] ? 1 : 0;
  return count;
}

std::size_t distinct(const std::vector<float>& values) { return std::set<float>(values.begin(), values.end()).size(); }

std::size_t distinct_rows(const std::vector<float>& matrix, fa::Index columns) {
  std::set<std::vector<float>> rows;
  for (auto row = matrix.begin(); row != matrix.end(); row += columns) rows.emplace(row, row + columns);
  return rows.size();
}

}  // namespace

// ---- The generator

TEST_CASE("the first samples of a seed are these, with every compiler and standard library") {
  // From a second implementation of MT19937-64 and of Box and Muller's formula. One unit in the last place is left to
  // the machine's logarithm and cosine.
  const std::vector<double> seed_1{1.3128515, 1.2506039, 1.2285219, 1.0957496};
  const std::vector<double> seed_20240607{0.58021843, -0.87459809, -0.5951131, -1.9866732};
  const fa::Tolerance last_place{.absolute = 0, .relative = 1.2e-7, .normwise = 1.2e-7};
  fa::check_close("sample", fa::normal_values(4, 1), seed_1, {{"at", 4}}, last_place);
  fa::check_close("sample", fa::normal_values(4, 20240607), seed_20240607, {{"at", 4}}, last_place);
  CHECK(std::abs(fa::normal_values(1000, 1)[999] - -0.31010905f) < 1e-7f);
}

TEST_CASE("q, k, v and dout are taken from one stream, in this order") {
  const fa::Inputs inputs = fa::make_inputs({.B = 1, .H = 2, .Nq = 3, .Nk = 2, .D = 4});
  std::vector<float> stream = inputs.q;
  for (const std::vector<float>* operand : {&inputs.k, &inputs.v, &inputs.dout}) {
    stream.insert(stream.end(), operand->begin(), operand->end());
  }
  CHECK(stream == fa::normal_values(24 + 16 + 16 + 24, 1));
}

TEST_CASE("the same seed gives the same inputs, another seed others") {
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    const fa::Inputs a = fa::make_inputs(kShape, kind, 7), b = fa::make_inputs(kShape, kind, 7);
    const fa::Inputs c = fa::make_inputs(kShape, kind, 8);
    CHECK(differing(a.q, b.q) + differing(a.k, b.k) + differing(a.v, b.v) + differing(a.dout, b.dout) == 0);
    CHECK(differing(a.q, c.q) > 0);
    CHECK(differing(a.k, c.k) > 0);
    CHECK(differing(a.v, c.v) == a.v.size());
    CHECK(differing(a.dout, c.dout) == a.dout.size());
  }
  CHECK(std::abs(correlation(fa::normal_values(40000, 7), fa::normal_values(40000, 8))) < 0.02);
}

TEST_CASE("samples have the moments and the tails of N(0, 1), and do not depend on each other") {
  const std::vector<float> values = fa::normal_values(200000, 5);
  CHECK(std::abs(moment(values, 1)) < 0.01);
  CHECK(std::abs(moment(values, 2) - 1.0) < 0.02);
  CHECK(std::abs(moment(values, 3)) < 0.03);
  CHECK(std::abs(moment(values, 4) - 3.0) < 0.1);
  const auto beyond = [&](float limit) {
    return double(std::count_if(values.begin(), values.end(), [&](float x) { return std::abs(x) > limit; })) / 200000;
  };
  CHECK(std::abs(beyond(1.0f) - 0.3173) < 0.005);
  CHECK(std::abs(beyond(2.0f) - 0.0455) < 0.002);
  CHECK(beyond(4.0f) > 0.0);
  const std::vector<float> next(values.begin() + 1, values.end());
  CHECK(std::abs(correlation(values, next)) < 0.01);
}

// ---- Shapes

TEST_CASE("operands have the size of their shape, and are empty when it is") {
  const fa::Inputs inputs = fa::make_inputs(kShape, fa::InputKind::outliers);
  CHECK(inputs.q.size() == 858);
  CHECK(inputs.k.size() == 1122);
  CHECK(inputs.v.size() == 1122);
  CHECK(inputs.dout.size() == 858);
  for (const fa::InputKind kind : fa::all_input_kinds) {
    CHECK(fa::make_inputs({.B = 2, .H = 1, .Nq = 0, .Nk = 3, .D = 2}, kind).q.empty());
    CHECK(fa::make_inputs({.B = 2, .H = 1, .Nq = 3, .Nk = 0, .D = 2}, kind).k.empty());
  }
}

TEST_CASE("a shape that is not valid is rejected") {
  CHECK_THROWS_AS(fa::make_inputs({.H = 0}), std::invalid_argument);
  CHECK_THROWS_WITH(fa::make_inputs({.Nk = -1}), Catch::Matchers::ContainsSubstring("Nk = -1"));
}

// ---- Kinds

TEST_CASE("every kind is listed, and has a name of its own") {
  std::set<std::string_view> names;
  for (const fa::InputKind kind : fa::all_input_kinds) names.insert(fa::name_of(kind));
  CHECK(names == std::set<std::string_view>{"normal", "outliers", "large logits", "equal logits", "one-hot"});
}

TEST_CASE("no rows are equal and no values repeat, except where the kind says so") {
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    const fa::Inputs inputs = fa::make_inputs(kShape, kind);
    const bool equal_keys = kind == fa::InputKind::equal_logits;
    CHECK(distinct_rows(inputs.q, kShape.D) == 2 * 3 * 13);
    CHECK(distinct_rows(inputs.k, kShape.D) == (equal_keys ? 2 * 3 : 2 * 3 * 17));  // heads differ all the same
    CHECK(distinct_rows(inputs.v, kShape.D) == 2 * 3 * 17);
    CHECK(distinct_rows(inputs.dout, kShape.D) == 2 * 3 * 13);
    if (kind != fa::InputKind::one_hot) CHECK(distinct(inputs.q) > 850);
    CHECK(distinct(inputs.v) > 1110);
    CHECK(distinct(inputs.dout) > 850);
  }
}

TEST_CASE("a matrix with as many rows as columns is not symmetric") {
  for (const fa::InputKind kind : fa::all_input_kinds) {
    const fa::Inputs inputs = fa::make_inputs({.Nq = 6, .Nk = 6, .D = 6}, kind);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t d = 0; d < i; ++d) {
        CHECK(inputs.k[i * 6 + d] != inputs.k[d * 6 + i]);
        CHECK(inputs.v[i * 6 + d] != inputs.v[d * 6 + i]);
      }
    }
  }
}

TEST_CASE("outliers: one element in a thousand of q, k and v is off by N(0, 100)") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 500, .Nk = 600, .D = 64};
  const fa::Inputs plain = fa::make_inputs(shape), inputs = fa::make_inputs(shape, fa::InputKind::outliers);
  double count = 0.0, squares = 0.0;
  for (const auto& [with, without] : {std::pair(&inputs.q, &plain.q), {&inputs.k, &plain.k}, {&inputs.v, &plain.v}}) {
    const double changed = double(differing(*with, *without));
    CHECK(std::abs(changed / double(with->size()) - 0.001) < 0.0003);
    count += changed;
    for (std::size_t at = 0; at < with->size(); ++at) {
      squares += std::pow(double((*with)[at]) - double((*without)[at]), 2);
    }
  }
  CHECK(std::abs(squares / count - 100.0) < 20.0);
  CHECK(inputs.dout == plain.dout);
}

TEST_CASE("large logits: scores are about 1e4 either way, v and dout stay N(0, 1)") {
  const fa::Inputs plain = fa::make_inputs(kShape), inputs = fa::make_inputs(kShape, fa::InputKind::large_logits);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, kShape, {});
  CHECK(*std::max_element(oracle.m.begin(), oracle.m.end()) > 2e4);
  CHECK(*std::max_element(oracle.m.begin(), oracle.m.end()) < 1e5);
  CHECK(std::abs(moment(inputs.q, 2) / 1e4 - 1.0) < 0.15);
  CHECK(std::abs(moment(inputs.k, 2) / 1e4 - 1.0) < 0.15);
  CHECK(inputs.v == plain.v);
  CHECK(inputs.dout == plain.dout);
}

TEST_CASE("equal logits: every weight is the same, so l counts the visible keys") {
  const fa::Inputs inputs = fa::make_inputs(kShape, fa::InputKind::equal_logits);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, kShape, {.causal = true});
  for (fa::Index row = 0; row < fa::query_rows(kShape); ++row) {
    CHECK(oracle.l[std::size_t(row)] == double(row % 13 + 17 - 13 + 1));
  }
}

TEST_CASE("one-hot: out is the value of the last visible key, exactly") {
  for (const fa::Shape& shape : {kShape, fa::Shape{.B = 1, .H = 2, .Nq = 3, .Nk = 1000, .D = 64}}) {
    const fa::Inputs inputs = fa::make_inputs(shape, fa::InputKind::one_hot);
    for (const bool causal : {false, true}) {
      const fa::ForwardOracle oracle =
          fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {.causal = causal});
      for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
        const fa::Index last = fa::visible_keys(shape, {.causal = causal}, row % shape.Nq) - 1;
        CAPTURE(shape, causal, row);
        CHECK(oracle.l[std::size_t(row)] == 1.0);
        for (fa::Index d = 0; d < shape.D; ++d) {
          CHECK(oracle.out[std::size_t(row * shape.D + d)] ==
                double(inputs.v[std::size_t((row / shape.Nq * shape.Nk + last) * shape.D + d)]));
        }
      }
    }
  }
}

namespace {

// The first of the values, with FA_SEED as it is given.
std::vector<float> values_with(const char* other, std::uint64_t seed) {
  setenv("FA_SEED", other, 1);
  const std::vector<float> values = fa::normal_values(100, seed);
  unsetenv("FA_SEED");
  return values;
}

}  // namespace

TEST_CASE("FA_SEED gives other numbers, the same ones each time, and not those of another seed") {
  const std::vector<float> plain = fa::normal_values(100, 1), other = values_with("7", 1);
  CHECK(values_with("", 1) == plain);
  CHECK(values_with("7", 1) == other);
  std::vector<std::vector<float>> all{plain, fa::normal_values(100, 2), other};
  for (const char* number : {"0", "1", "8", "18446744073709551615"}) all.push_back(values_with(number, 1));
  for (const char* number : {"0", "7"}) all.push_back(values_with(number, 2));
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(std::abs(moment(values_with("12345", 3), 1)) < 0.4);
}

TEST_CASE("an FA_SEED that is not understood is rejected") {
  for (const char* wrong : {"x", "-1", "1.5", " 1", "18446744073709551616"}) {
    CAPTURE(wrong);
    setenv("FA_SEED", wrong, 1);
    fa::check_rejects([] { fa::normal_values(1, 1); }, "FA_SEED = '" + std::string(wrong) + "': must be a number");
    unsetenv("FA_SEED");
  }
}
