// The properties of lesson 01, in the order in which a teacher would look.

#include <cmath>
#include <stdexcept>
#include <vector>

#include "attention_forward.h"
#include "fa/heap.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_random.h"

namespace {

const fa::Tolerance kTight{.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6};

std::vector<float> scores(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  std::vector<float> s = fa::poisoned(fa::score_elements(shape));
  lesson::attention_scores(inputs.q.data(), inputs.k.data(), s.data(), shape, options);
  return s;
}

std::vector<float> softmax(const std::vector<float>& s, fa::Index rows, fa::Index columns) {
  std::vector<float> p = fa::poisoned(rows * columns);
  lesson::softmax_rows(s.data(), p.data(), rows, columns);
  return p;
}

std::vector<float> attention(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  fa::Scratch scratch;
  std::vector<float> out = fa::poisoned(fa::query_elements(shape));
  lesson::attention_forward(inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), shape, options, scratch);
  return out;
}

void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  fa::check_close("out", attention(inputs, shape, options), oracle.out,
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
}

// [worked-example]
// One head, three queries and keys, D = 2, scale = 1. Query 2 has the scores 2, 1, 0.
const fa::Shape kExample{.Nq = 3, .Nk = 3, .D = 2};
const fa::Options kExampleOptions{.scale = 1.0f};
const fa::Inputs kExampleInputs{.q = {1, 0, 0, 1, 1, 1},     // (3, 2)
                                .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                .dout = {}};
// [/worked-example]

}  // namespace

// ---- Step 1

TEST_CASE("scores are the scaled dot products of queries and keys, as worked by hand", "[step1]") {
  fa::check_close("s", scores(kExampleInputs, kExample, kExampleOptions),
                  std::vector<double>{2, 0, -1, 0, 1, 1, 2, 1, 0}, {{"i", 3}, {"j", 3}}, kTight);
}

TEST_CASE("a causal mask hides the keys after the query with -inf", "[step1]") {
  const fa::Options causal{.causal = true, .scale = 1.0f};
  const double hidden = fa::negative_infinity;
  fa::check_close("s", scores(kExampleInputs, kExample, causal),
                  std::vector<double>{2, hidden, hidden, 0, 1, hidden, 2, 1, 0}, {{"i", 3}, {"j", 3}}, kTight);
}

TEST_CASE("the causal diagonal ends in the bottom-right corner when Nq and Nk differ", "[step1]") {
  const fa::Options causal{.causal = true};
  for (const fa::Shape& shape : {fa::Shape{.Nq = 2, .Nk = 5, .D = 3}, fa::Shape{.Nq = 5, .Nk = 2, .D = 3}}) {
    const std::vector<float> s = scores(fa::make_inputs(shape), shape, causal);
    for (fa::Index i = 0; i < shape.Nq; ++i) {
      for (fa::Index j = 0; j < shape.Nk; ++j) {
        const bool visible = j <= i + shape.Nk - shape.Nq;
        CAPTURE(shape, i, j, visible);
        CHECK(std::isfinite(s[std::size_t(i * shape.Nk + j)]) == visible);
      }
    }
  }
}

TEST_CASE("each batch and head has its own scores, scaled by 1/sqrt(D)", "[step1]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 4, .Nk = 5, .D = 6};
  const fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<double> expected;
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      double dot = 0.0;
      for (fa::Index d = 0; d < shape.D; ++d) {
        dot += double(inputs.q[std::size_t(row * shape.D + d)]) *
               double(inputs.k[std::size_t((row / shape.Nq * shape.Nk + j) * shape.D + d)]);
      }
      expected.push_back(dot / std::sqrt(6.0));
    }
  }
  fa::check_close("s", scores(inputs, shape, {}), expected, {{"b", 2}, {"h", 3}, {"i", 4}, {"j", 5}}, kTight);
}

// ---- Step 2

TEST_CASE("weights are e^(s - m) / l, as worked by hand", "[step2]") {
  fa::check_close("p", softmax({2, 1, 0}, 1, 3), std::vector<double>{0.665241, 0.244728, 0.090031},
                  {{"row", 1}, {"j", 3}}, {.absolute = 5e-7, .relative = 0, .normwise = 1e-6});
}

TEST_CASE("every row of P sums to 1", "[step2]") {
  const fa::Index rows = 7, columns = 31;
  const std::vector<float> p = softmax(fa::normal_values(rows * columns, 2), rows, columns);
  for (fa::Index row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (fa::Index j = 0; j < columns; ++j) sum += double(p[std::size_t(row * columns + j)]);
    CAPTURE(row);
    CHECK(std::abs(sum - 1.0) < 1e-6);
  }
}

TEST_CASE("a shift of a whole row of scores changes nothing", "[step2]") {
  const std::vector<double> expected{0.665241, 0.244728, 0.090031};
  for (const float shift : {-5e4f, -1e3f, -90.0f, 90.0f, 1e3f, 5e4f}) {
    CAPTURE(shift);
    fa::check_close("p", softmax({2 + shift, 1 + shift, 0 + shift}, 1, 3), expected, {{"row", 1}, {"j", 3}},
                    {.absolute = 5e-7, .relative = 0, .normwise = 1e-6});
  }
}

TEST_CASE("equal scores weigh the same, and a score far above the others takes all", "[step2]") {
  fa::check_close("p", softmax({-7, -7, -7, -7}, 1, 4), std::vector<double>{0.25, 0.25, 0.25, 0.25},
                  {{"row", 1}, {"j", 4}}, kTight);
  fa::check_close("p", softmax({-1e4f, 1e4f, 0}, 1, 3), std::vector<double>{0, 1, 0}, {{"row", 1}, {"j", 3}}, kTight);
}

TEST_CASE("a score of -inf weighs nothing, also in a row that has no other", "[step2]") {
  fa::check_close("p", softmax({0, -fa::infinity, 0, -fa::infinity, -fa::infinity, -fa::infinity}, 2, 3),
                  std::vector<double>{0.5, 0, 0.5, 0, 0, 0}, {{"row", 2}, {"j", 3}}, kTight);
}

TEST_CASE("a NaN or a score of +inf makes its row NaN, and no other", "[step2]") {
  fa::check_close("p", softmax({0, fa::nan, 0, 0, 0, -fa::infinity}, 2, 3),
                  std::vector<double>{fa::nan, fa::nan, fa::nan, 0.5, 0.5, 0}, {{"row", 2}, {"j", 3}}, kTight);
  CHECK(std::isnan(softmax({0, fa::infinity, 0}, 1, 3)[1]));
  CHECK(std::isnan(softmax({fa::nan}, 1, 1)[0]));
}

// ---- Step 3

TEST_CASE("out is the sum of the values times their weights, as worked by hand", "[step3]") {
  const std::vector<float> p{1, 0, 0, 0.5f, 0.5f, 0, 0.665241f, 0.244728f, 0.090031f};
  std::vector<float> out = fa::poisoned(6);
  lesson::weighted_values(p.data(), kExampleInputs.v.data(), out.data(), kExample, {});
  fa::check_close("out", out, std::vector<double>{1, 10, 2, 15, 1.849579, 14.247896}, {{"i", 3}, {"d", 2}},
                  {.absolute = 2e-5, .relative = 0, .normwise = 1e-6});
}

TEST_CASE("each batch and head has its own weights and values", "[step3]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 4, .Nk = 5, .D = 6};
  const std::vector<float> p = fa::normal_values(fa::score_elements(shape), 1);
  const std::vector<float> v = fa::normal_values(fa::key_elements(shape), 2);
  std::vector<double> expected;
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    for (fa::Index d = 0; d < shape.D; ++d) {
      double sum = 0.0;
      for (fa::Index j = 0; j < shape.Nk; ++j) {
        sum += double(p[std::size_t(row * shape.Nk + j)]) *
               double(v[std::size_t((row / shape.Nq * shape.Nk + j) * shape.D + d)]);
      }
      expected.push_back(sum);
    }
  }
  std::vector<float> out = fa::poisoned(fa::query_elements(shape));
  lesson::weighted_values(p.data(), v.data(), out.data(), shape, {});
  fa::check_close("out", out, expected, {{"b", 2}, {"h", 3}, {"i", 4}, {"d", 6}},
                  {.absolute = 1e-5, .relative = 0, .normwise = 1e-6});
}

TEST_CASE("a hidden row of V is not used, even if it holds a NaN", "[step3]") {
  const std::vector<float> p{1, 0, 0.5f, 0.5f}, v{3, 4, fa::nan, fa::nan};
  std::vector<float> out = fa::poisoned(4);
  lesson::weighted_values(p.data(), v.data(), out.data(), {.Nq = 2, .Nk = 2, .D = 2}, {.causal = true});
  fa::check_close("out", out, std::vector<double>{3, 4, fa::nan, fa::nan}, {{"i", 2}, {"d", 2}}, kTight);
}

// ---- Step 4

TEST_CASE("attention with a single key returns its value", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const std::vector<double> v(inputs.v.begin(), inputs.v.end());
  fa::check_close("out", attention(inputs, shape, {}), v, {{"d", 16}}, {.absolute = 0, .relative = 0, .normwise = 0});
}

TEST_CASE("a query that sees no key gives zeros", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 20, .Nk = 12, .D = 3};
  const std::vector<float> out = attention(fa::make_inputs(shape), shape, {.causal = true});
  for (fa::Index head = 0; head < 2; ++head) {
    for (fa::Index element = 0; element < 8 * shape.D; ++element) {
      CAPTURE(head, element);
      CHECK(out[std::size_t(head * shape.Nq * shape.D + element)] == 0.0f);
    }
  }
}

TEST_CASE("out agrees with the oracle on ragged shapes, causal or not", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal});
  }
}

TEST_CASE("out agrees with the oracle on inputs of every kind", "[step4]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    for (const bool causal : {false, true})
      check_against_oracle(fa::make_inputs(shape, kind), shape, {.causal = causal});
  }
}

TEST_CASE("any finite scale is right: zero, negative, large", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const float scale : {0.0f, -0.7f, 1.0f, 100.0f}) {
    for (const bool causal : {false, true}) {
      check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal, .scale = scale});
    }
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const bool causal : {false, true}) {
    for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) {
      check_against_oracle(inputs, shape, {.causal = causal});
    }
  }
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step4]") {
  for (const bool causal : {false, true}) {
    for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
      CAPTURE(inputs.q, inputs.k);
      check_against_oracle(inputs, fa::infinite_scores_shape, {.causal = causal});
    }
  }
}

TEST_CASE("bad arguments are named, and nothing is written", "[step4]") {
  const fa::Shape good{.Nq = 2, .Nk = 2, .D = 2};
  attention(fa::make_inputs(good), good, {});  // what is right is not rejected
  std::vector<float> values(8, 1.0f), out = fa::poisoned(8);
  // With a null pointer in place of the operand called `null`.
  const auto call = [&](std::string_view null, const fa::Shape& shape, const fa::Options& options) {
    const auto operand = [&](const char* name, float* memory) { return null == name ? nullptr : memory; };
    fa::Scratch scratch;
    lesson::attention_forward(operand("q", values.data()), operand("k", values.data()), operand("v", values.data()),
                              operand("out", out.data()), shape, options, scratch);
  };
  fa::check_rejects([&] { call("", {.Nq = -1, .Nk = 2, .D = 2}, {}); }, "Nq = -1");
  fa::check_rejects([&] { call("", {.Nq = 2, .Nk = 2, .D = 0}, {}); }, "D = 0");
  fa::check_rejects([&] { call("", good, {.scale = fa::infinity}); }, "scale = inf");
  for (const std::string name : {"q", "k", "v", "out"}) {
    fa::check_rejects([&] { call(name, good, {}); }, name + " = null");
  }
  for (const float value : out) CHECK(fa::is_poison(value));
}

TEST_CASE("working memory grows as N squared and is given back", "[step4]") {
  std::vector<double> n, bytes;
  for (const fa::Index N : {64, 128, 256, 512}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 4};
    const fa::Inputs inputs = fa::make_inputs(shape);
    std::vector<float> out = fa::poisoned(fa::query_elements(shape));
    fa::Scratch scratch;
    const fa::HeapMeter heap;
    lesson::attention_forward(inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), shape, {}, scratch);
    CHECK(heap.bytes() == scratch.heap_bytes());  // no memory beside `scratch`
    CHECK(scratch.bytes_in_use() == 0);
    CHECK(scratch.peak_bytes() == fa::standard_forward_scratch(shape));
    n.push_back(double(N));
    bytes.push_back(double(scratch.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 2.0) <= 0.05);
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step4][random]") { support::check_random(); }
