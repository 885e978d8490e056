// The properties of lesson 08, in the order in which a teacher would look.

#include <cmath>
#include <string>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("dv is the weights times dout, as worked by hand", "[step1]") {
  std::vector<float> dv = fa::poisoned(6);
  lesson::value_gradient(kExampleP.data(), kExampleInputs.dout.data(), dv.data(), kExample, kExampleOptions);
  fa::check_close("dv", dv, std::vector<double>{0.665241, 0, 0.244728, 0, 0.090031, 0}, {{"j", 3}, {"d", 2}}, kTight);
}

TEST_CASE("dv of a key sums over the queries of its head, each with its own weight", "[step1]") {
  const auto& [B, H, Nq, Nk, D] = kHeads;
  const Matrices p(B * H, Nq, Nk, 1), dout(B * H, Nq, D, 2);
  std::vector<float> dv = fa::poisoned(fa::key_elements(kHeads));
  lesson::value_gradient(p.data(), dout.data(), dv.data(), kHeads, {});
  const auto transposed = [&](fa::Index h, fa::Index j, fa::Index i) { return p(h, i, j); };
  fa::check_close("dv", dv, product(B * H, Nk, Nq, D, transposed, dout), {{"b", B}, {"h", H}, {"j", Nk}, {"d", D}},
                  kTight);
}

TEST_CASE("a hidden pair adds nothing to dv, even if dout holds a NaN", "[step1]") {
  // Of two keys, query 0 sees none, query 1 the first. Of three keys, query 0 sees the first two.
  check_value_gradient({.Nq = 3, .Nk = 2}, {0, 0, 1, 0, 0.25f, 0.75f}, {fa::nan, 4, 8}, {6, 6});
  check_value_gradient({.Nq = 2, .Nk = 3}, {0.25f, 0.75f, 0, 0.25f, 0.25f, 0.5f}, {8, 4}, {3, 7, 2});
  check_value_gradient({.Nq = 2, .Nk = 3}, {0.25f, 0.75f, 0, 0.25f, 0.25f, 0.5f}, {fa::nan, 4}, {fa::nan, fa::nan, 2});
}

// ---- Step 2

TEST_CASE("dp is the dot product of dout and a value, as worked by hand", "[step2]") {
  std::vector<float> dp = fa::poisoned(3);
  lesson::weight_gradient(kExampleInputs.dout.data(), kExampleInputs.v.data(), dp.data(), kExample, kExampleOptions);
  fa::check_close("dp", dp, std::vector<double>{1, 3, 5}, {{"j", 3}}, kTight);
}

TEST_CASE("each query of each head has its own dp", "[step2]") {
  const auto& [B, H, Nq, Nk, D] = kHeads;
  const Matrices dout(B * H, Nq, D, 1), v(B * H, Nk, D, 2);
  std::vector<float> dp = fa::poisoned(fa::score_elements(kHeads));
  lesson::weight_gradient(dout.data(), v.data(), dp.data(), kHeads, {});
  const auto transposed = [&](fa::Index h, fa::Index d, fa::Index j) { return v(h, j, d); };
  fa::check_close("dp", dp, product(B * H, Nq, D, Nk, dout, transposed), {{"b", B}, {"h", H}, {"i", Nq}, {"j", Nk}},
                  kTight);
}

TEST_CASE("dp of a hidden pair is 0, even if its value holds a NaN", "[step2]") {
  const std::vector<float> dout{2, 3, 5}, v{7, fa::nan};  // Nq = 3, Nk = 2: query 0 sees nothing, query 1 sees key 0
  std::vector<float> dp = fa::poisoned(6);
  lesson::weight_gradient(dout.data(), v.data(), dp.data(), {.Nq = 3, .Nk = 2, .D = 1}, {.causal = true});
  fa::check_close("dp", dp, std::vector<double>{0, 0, 21, 0, 35, fa::nan}, {{"i", 3}, {"j", 2}}, kTight);
}

// ---- Step 3

TEST_CASE("delta from the weights is the weighted mean of dp, as worked by hand", "[step3]") {
  // A second row, of a query that sees key 0 only.
  const std::vector<float> p{0.665241f, 0.244728f, 0.0900306f, 1, 0, 0}, dp{1, 3, 5, 7, 0, 0};
  std::vector<float> delta = fa::poisoned(2);
  lesson::delta_from_weights(p.data(), dp.data(), delta.data(), 2, 3);
  fa::check_close("delta", delta, std::vector<double>{1.849579, 7}, {{"row", 2}}, kTight);
}

TEST_CASE("delta from the outputs is dout times out, as worked by hand", "[step3]") {
  const std::vector<float> dout{1, 0, 0.5f, -2}, out{1.849579f, 14.247896f, 3, 4};
  std::vector<float> delta = fa::poisoned(2);
  lesson::delta_from_outputs(dout.data(), out.data(), delta.data(), 2, 2);
  fa::check_close("delta", delta, std::vector<double>{1.849579, -6.5}, {{"row", 2}}, kTight);
}

TEST_CASE("the identity: both give the same delta, row by row, for any shape, causal or not", "[step3]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) {
      CAPTURE(shape, causal);
      const fa::Inputs inputs = fa::make_inputs(shape);
      const Forward forward(inputs, shape, {.causal = causal});
      const fa::Index rows = fa::query_rows(shape);
      const std::vector<float> dp = weight_gradient_by_oracle(inputs, shape);
      std::vector<float> from_weights = fa::poisoned(rows), from_outputs = fa::poisoned(rows);
      const bool one_row = rows == 1;  // its delta may be near 0, since the terms have both signs
      lesson::delta_from_weights(forward.p.data(), dp.data(), from_weights.data(), rows, shape.Nk);
      lesson::delta_from_outputs(inputs.dout.data(), forward.out.data(), from_outputs.data(), rows, shape.D);
      fa::check_close("delta_from_weights", from_weights, std::vector<double>(from_outputs.begin(), from_outputs.end()),
                      {{"row", rows}}, {.absolute = 2e-5, .relative = 0, .normwise = one_row ? 1.0 : 1e-5});
    }
  }
}

// ---- Step 4

TEST_CASE("the softmax's Jacobian on three numbers, as worked by hand", "[step4]") {
  // Row n: the weights are n times the same, dp is 1 for weight n and 0 for the others. Then ds is row n of ∂p / ∂s.
  std::vector<float> p;
  for (int n = 0; n < 3; ++n) p.insert(p.end(), kExampleP.begin(), kExampleP.end());
  const std::vector<double> jacobian{0.222695,  -0.162803, -0.059892,  //
                                     -0.162803, 0.184836,  -0.022033,  //
                                     -0.059892, -0.022033, 0.081925};
  fa::check_close("ds", score_gradient(p, {1, 0, 0, 0, 1, 0, 0, 0, 1}, 3), jacobian, {{"row", 3}, {"j", 3}}, kTight);
}

TEST_CASE("ds is what the output does when a score moves, as worked by hand", "[step4]") {
  fa::check_close("ds", score_gradient(kExampleP, {1, 3, 5}, 1), kExampleDs, {{"j", 3}}, kTight);
  CHECK(std::abs(example_output(2.01) - 1.843937) < 5e-7);
  CHECK(std::abs(example_output(1.99) - 1.855240) < 5e-7);
  CHECK(std::abs((example_output(2.01) - example_output(1.99)) / 0.02 - -0.565172) < 5e-7);
}

TEST_CASE("every row of dS sums to 0, and what is added to a whole row of dP changes nothing", "[step4]") {
  const fa::Shape shape{.Nq = 7, .Nk = 31, .D = 4};
  const std::vector<float> p = Forward(fa::make_inputs(shape), shape, {}).p;
  std::vector<float> dp = fa::normal_values(7 * 31, 3);
  const std::vector<float> ds = score_gradient(p, dp, 7);
  for (std::size_t row = 0; row < 7; ++row) {
    double sum = 0.0;
    for (std::size_t j = 0; j < 31; ++j) sum += double(ds[row * 31 + j]);
    CAPTURE(row);
    CHECK(std::abs(sum) < 1e-6);
    for (std::size_t j = 0; j < 31; ++j) dp[row * 31 + j] += float(row) - 3.5f;
  }
  fa::check_close("ds", score_gradient(p, dp, 7), std::vector<double>(ds.begin(), ds.end()), {{"row", 7}, {"j", 31}},
                  {.absolute = 1e-6, .relative = 0, .normwise = 1e-5});
}

TEST_CASE("a weight of 0 has ds = 0, and a single weight of 1 too", "[step4]") {
  fa::check_close("ds", score_gradient({0, 0, 0, 0, 1, 0}, {0, 0, 0, 4, 5, 6}, 2), std::vector<double>(6, 0.0),
                  {{"row", 2}, {"j", 3}}, {});
}

// ---- Step 5

TEST_CASE("dq and dk are ds times keys and queries, as worked by hand", "[step5]") {
  const std::vector<float> ds(kExampleDs.begin(), kExampleDs.end());
  std::vector<float> dq = fa::poisoned(2), dk = fa::poisoned(6);
  lesson::query_key_gradients(ds.data(), kExampleInputs.q.data(), kExampleInputs.k.data(), dq.data(), dk.data(),
                              kExample, kExampleOptions);
  fa::check_close("dq", dq, std::vector<double>{-1.413984, 0.565175}, {{"d", 2}}, kTight);
  fa::check_close("dk", dk, std::vector<double>{-0.565175, -0.565175, 0.281541, 0.281541, 0.283634, 0.283634},
                  {{"j", 3}, {"d", 2}}, kTight);
}

TEST_CASE("dq sums over keys and dk over queries, each head for itself, times the scale once", "[step5]") {
  const auto& [B, H, Nq, Nk, D] = kHeads;
  const Matrices ds(B * H, Nq, Nk, 1), q(B * H, Nq, D, 2), k(B * H, Nk, D, 3);
  for (const fa::Options& options : {fa::Options{}, fa::Options{.scale = -0.7f}, fa::Options{.scale = 0.0f}}) {
    CAPTURE(options);
    std::vector<float> dq = fa::poisoned(fa::query_elements(kHeads)), dk = fa::poisoned(fa::key_elements(kHeads));
    lesson::query_key_gradients(ds.data(), q.data(), k.data(), dq.data(), dk.data(), kHeads, options);
    const double scale = double(fa::scale_of(kHeads, options));
    const auto scaled = [&](fa::Index h, fa::Index i, fa::Index j) { return scale * double(ds(h, i, j)); };
    const auto transposed = [&](fa::Index h, fa::Index j, fa::Index i) { return scaled(h, i, j); };
    fa::check_close("dq", dq, product(B * H, Nq, Nk, D, scaled, k), {{"b", B}, {"h", H}, {"i", Nq}, {"d", D}}, kTight);
    fa::check_close("dk", dk, product(B * H, Nk, Nq, D, transposed, q), {{"b", B}, {"h", H}, {"j", Nk}, {"d", D}},
                    kTight);
  }
}

TEST_CASE("a hidden pair adds nothing to dq and dk, even if q, k or ds holds a NaN", "[step5]") {
  HiddenPairs fewer{.shape = {.Nq = 3, .Nk = 2}, .ds = {fa::nan, fa::nan, 2, fa::nan, 3, 4}};  // query 0 sees none
  fewer.check({5, 6, 7}, {11, 13}, {0, 22, 85}, {33, 28});
  fewer.check({fa::nan, 6, 7}, {11, 13}, {0, 22, 85}, {33, 28});
  fewer.check({5, 6, 7}, {11, fa::nan}, {0, 22, fa::nan}, {33, 28});
  HiddenPairs more{.shape = {.Nq = 2, .Nk = 3}, .ds = {2, 3, fa::nan, 4, 5, 6}};  // query 0 sees two
  more.check({5, 7}, {11, 13, 17}, {61, 211}, {38, 50, 42});
  more.check({fa::nan, 7}, {11, 13, 17}, {61, 211}, {fa::nan, fa::nan, 42});
  more.check({5, 7}, {11, 13, fa::nan}, {61, fa::nan}, {38, 50, 42});
}

// ---- Step 6

TEST_CASE("with a single key dv is dout, and dq and dk are 0", "[step6]") {
  for (const fa::Index D : {1, 16}) {
    const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = D};
    const fa::Inputs inputs = fa::make_inputs(shape);
    const Run run(inputs, shape, {});
    CHECK(run.dv == inputs.dout);
    check_against_oracle(inputs, shape, {});
  }
}

TEST_CASE("all gradients of the example, as worked by hand", "[step6]") {
  const Run run(kExampleInputs, kExample, kExampleOptions);
  const fa::BackwardOracle by_hand{.dq = {-1.413984, 0.565175},
                                   .dk = {-0.565175, -0.565175, 0.281541, 0.281541, 0.283634, 0.283634},
                                   .dv = {0.665241, 0, 0.244728, 0, 0.090031, 0}};
  check_gradients(run, by_hand, kExample, {kTight, kTight, kTight});
}

TEST_CASE("delta comes from the outputs, not from the weights", "[step6]") {
  // Outputs of 0, as no forward pass leaves them. Then delta is 0, and ds is p · dp.
  Forward forward(kExampleInputs, kExample, kExampleOptions);
  forward.out = {0, 0};
  const Run run(kExampleInputs, forward, kExample, kExampleOptions);
  const std::vector<double> dk{0.665241, 0.665241, 0.734185, 0.734185, 0.450153, 0.450153};
  fa::check_close("dk", run.dk, dk, {{"j", 3}, {"d", 2}}, kTight);
}

TEST_CASE("a query that sees no key has dq = 0 and adds nothing to dk and dv", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 20, .Nk = 12, .D = 3};  // causal: queries 0 to 7 see nothing
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::size_t at = 0; at < 24; ++at) inputs.q[at] = inputs.dout[at] = fa::nan;
  check_against_oracle(inputs, shape, {.causal = true});
  const Run run(inputs, shape, {.causal = true});
  for (std::size_t at = 0; at < 24; ++at) {
    CAPTURE(at);
    CHECK(run.dq[at] == 0.0f);
    CHECK(run.dq[60 + at] == 0.0f);
  }
}

TEST_CASE("gradients agree with the oracle on ragged shapes, causal or not", "[step6]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal});
  }
}

TEST_CASE("gradients agree with central differences of the loss, at several steps", "[step6]") {
  for (const fa::Options& options : {fa::Options{}, fa::Options{.causal = true}, fa::Options{.scale = -0.7f}}) {
    check_central_differences({.B = 2, .H = 1, .Nq = 3, .Nk = 4, .D = 3}, options);
    check_central_differences({.B = 1, .H = 2, .Nq = 5, .Nk = 3, .D = 2}, options);
  }
}

TEST_CASE("gradients agree with the oracle on inputs of every kind", "[step6]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    for (const bool causal : {false, true})
      check_against_oracle(fa::make_inputs(shape, kind), shape, {.causal = causal});
  }
}

TEST_CASE("any finite scale is right: zero, negative, large", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const float scale : {0.0f, -0.7f, 1.0f, 100.0f}) {
    for (const bool causal : {false, true}) {
      check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal, .scale = scale});
    }
  }
}

TEST_CASE("a NaN reaches the gradients that depend on it, and no other", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Inputs& inputs : nan_in_each_operand(shape)) {
    for (const bool causal : {false, true}) check_against_oracle(inputs, shape, {.causal = causal});
  }
}

TEST_CASE("a score of -inf or +inf does to the gradients what IEEE arithmetic says", "[step6]") {
  for (const bool causal : {false, true}) {
    for (fa::Inputs inputs : fa::inputs_with_infinite_scores()) {
      CAPTURE(inputs.q, inputs.k);
      inputs.dout = {2, -3};
      check_against_oracle(inputs, fa::infinite_scores_shape, {.causal = causal});
    }
  }
}

TEST_CASE("gradients of three times normal inputs at N = 1024 are finite and right", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1024, .Nk = 1024, .D = 128};
  check_against_oracle(three_times(fa::make_inputs(shape)), shape, {.causal = true});
}

TEST_CASE("bad arguments are named, and nothing is written", "[step6]") {
  const fa::Shape good{.Nq = 2, .Nk = 2, .D = 2};
  call_without("", good, {});  // what is right is not rejected
  fa::check_rejects([&] { call_without("", {.Nq = -1, .Nk = 2, .D = 2}, {}); }, "Nq = -1");
  fa::check_rejects([&] { call_without("", {.Nq = 2, .Nk = 2, .D = 0}, {}); }, "D = 0");
  fa::check_rejects([&] { call_without("", good, {.scale = fa::infinity}); }, "scale = inf");
  for (const std::string name : {"q", "k", "v", "p", "out", "dout", "dq", "dk", "dv"}) {
    fa::check_rejects([&] { call_without(name, good, {}); }, name + " = null");
  }
}

TEST_CASE("working memory grows as N squared and is given back", "[step6]") {
  std::vector<double> n, bytes;
  for (const fa::Index N : {64, 128, 256, 512}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 4};
    const Run run(fa::make_inputs(shape), shape, {});
    CHECK(run.unmetered_bytes == 0);
    CHECK(run.scratch.bytes_in_use() == 0);
    CHECK(run.scratch.peak_bytes() <= 4 * fa::query_rows(shape) * (2 * N + 1));  // dP, dS and delta
    n.push_back(double(N));
    bytes.push_back(double(run.scratch.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 2.0) <= 0.05);
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step6][random]") { check_random(); }
