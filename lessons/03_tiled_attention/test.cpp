// The properties of lesson 03, in the order in which a teacher would look.

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

// [float-order]
// Between 2^24 and 2^25, floats are 2 apart.
static_assert((16777216.0f + 1.0f) + 1.0f == 16777216.0f);
static_assert(16777216.0f + (1.0f + 1.0f) == 16777218.0f);
// [/float-order]

TEST_CASE("scores are the scaled dot products, as worked by hand", "[step1]") {
  INFO("q = (1, 2), (3, 4); k = (5, 6), (7, 8), (9, 1), stored transposed; scale = 0.5");
  const std::vector<float> q_tile{1, 2, 3, 4}, k_tile{5, 7, 9, 6, 8, 1};
  std::vector<float> s_tile = fa::poisoned(6);
  lesson::score_tile(q_tile.data(), k_tile.data(), s_tile.data(), 2, 3, 2, 0.5f);
  fa::check_close("s", s_tile, std::vector<double>{8.5, 11.5, 5.5, 19.5, 26.5, 15.5}, {{"row", 2}, {"column", 3}},
                  kTight);
}

TEST_CASE("scores are the scaled dot products, whatever the extents of the tile", "[step1]") {
  for (const auto& [rows, columns, D] :
       {std::array<fa::Index, 3>{1, 1, 1}, {3, 5, 7}, {5, 3, 4}, {7, 1, 63}, {1, 9, 66}}) {
    const std::vector<float> q_tile = fa::normal_values(rows * D, 1), k_tile = fa::normal_values(D * columns, 2);
    std::vector<float> s_tile = fa::poisoned(rows * columns);
    lesson::score_tile(q_tile.data(), k_tile.data(), s_tile.data(), rows, columns, D, -0.25f);
    std::vector<double> expected;
    for (fa::Index row = 0; row < rows; ++row) {
      for (fa::Index column = 0; column < columns; ++column) {
        double dot = 0.0;
        for (fa::Index d = 0; d < D; ++d) {
          dot += double(q_tile[std::size_t(row * D + d)]) * double(k_tile[std::size_t(d * columns + column)]);
        }
        expected.push_back(-0.25 * dot);
      }
    }
    CAPTURE(rows, columns, D);
    fa::check_close("s", s_tile, expected, {{"row", rows}, {"column", columns}},
                    {.absolute = 1e-5, .relative = 0, .normwise = 1e-6});
  }
}

// ---- Step 2

TEST_CASE("a row absorbs the worked example, largest scores first", "[step2]") {
  State state{.u = {0, 0}};
  state.absorb({2, 1}, {1, 10, 3, 20});
  state.check(2.0, 1.367879, {2.103638, 17.357589});
  state.absorb({0}, {5, 30});
  state.check(2.0, 1.503215, {2.780315, 21.417647});
}

TEST_CASE("when a later tile raises the maximum, l and every u move with it", "[step2]") {
  State state{.u = {0, 0}};
  state.absorb({0}, {5, 30});
  state.check(0.0, 1.0, {5, 30});
  state.absorb({2, 1}, {1, 10, 3, 20});
  state.check(2.0, 1.503215, {2.780315, 21.417647});
}

TEST_CASE("the weights replace the scores", "[step2]") {
  State state{.m = 3.0f, .l = 1.0f, .u = {1.0f}};
  std::vector<float> s_row{2, 1, 3};
  const std::vector<float> values{1, 2, 4};
  lesson::absorb_row(s_row.data(), values.data(), state.m, state.l, state.u.data(), 3, 1);
  fa::check_close("p", s_row, std::vector<double>{0.367879, 0.135335, 1}, {{"j", 3}}, kTight);
  state.check(3.0, 2.503215, {1 + 0.367879 + 2 * 0.135335 + 4});
}

TEST_CASE("all scores negative, or far below zero: the maximum does not start at 0", "[step2]") {
  State state{.u = {0}};
  state.absorb({-5e4f, -5e4f - 1}, {1, 3});
  state.check(-5e4, 1.367879, {2.103638});
}

TEST_CASE("no keys, and scores of -inf, leave the state as it is", "[step2]") {
  State state{.u = {0, 0}};
  state.absorb({}, {});
  state.absorb({-fa::infinity, -fa::infinity}, {1, 2, 3, 4});
  state.check(fa::negative_infinity, 0, {0, 0});
  state.absorb({2, 1}, {1, 10, 3, 20});
  state.absorb({-fa::infinity}, {7, 7});
  state.check(2.0, 1.367879, {2.103638, 17.357589});
}

TEST_CASE("a NaN or a score of +inf stays in l and u", "[step2]") {
  for (const float bad : {fa::nan, fa::infinity}) {
    State state{.u = {0}};
    state.absorb({1, bad}, {1, 2});
    state.absorb({5}, {3});
    CHECK(std::isnan(state.l));
    CHECK(std::isnan(state.u[0]));
  }
}

// ---- Step 3

TEST_CASE("attention with a single key returns its value, and its score as log-sum-exp", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(16, 1.0f);
  inputs.k.assign(16, -0.25f);  // the score is -4, exactly
  const std::vector<double> v(inputs.v.begin(), inputs.v.end());
  const Run run(inputs, shape, {.scale = 1.0f}, {.Br = 1, .Bc = 1});
  fa::check_close("out", run.out, v, {{"d", 16}}, {});
  fa::check_close("lse", run.lse.span(), std::vector<double>{-4}, {{"i", 1}}, {});
}

TEST_CASE("one tile that holds all of Q and K gives out and lse, as worked by hand", "[step3]") {
  check_example(false, {.Br = 3, .Bc = 3});
}

TEST_CASE("the worked example, one key at a time: the state passes from tile to tile", "[step3]") {
  check_example(false, {.Br = 3, .Bc = 1});
}

TEST_CASE("the worked example, one query at a time: each Q tile begins with empty states", "[step3]") {
  check_example(false, {.Br = 1, .Bc = 3});
}

TEST_CASE("the worked example in tiles of two: the last ones are partial", "[step3]") {
  check_example(false, {.Br = 2, .Bc = 2});
}

TEST_CASE("all logits far below zero: no state begins with a finite maximum", "[step3]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 1};
  const fa::Inputs inputs{.q = {1, 2}, .k = {-5e4f, -5e4f - 1, -5e4f - 2}, .v = {1, 3, 5}, .dout = {}};
  for (const fa::Tiles& tiles : fa::ragged_tiles) check_against_oracle(inputs, shape, {}, tiles);
}

TEST_CASE("each batch and head has its own queries, keys and values", "[step3]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 2, .Nk = 3, .D = 2};
  check_against_oracle(fa::make_inputs(shape), shape, {}, {.Br = 2, .Bc = 2});
}

TEST_CASE("the tiles do not show in the result", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 37, .Nk = 41, .D = 11};
  const fa::Inputs inputs = fa::make_inputs(shape, fa::InputKind::outliers);
  const Run whole(inputs, shape, {}, {.Br = 64, .Bc = 64});
  const std::vector<double> expected(whole.out.begin(), whole.out.end());
  for (fa::Index Br = 1; Br <= 40; Br += 3) {
    for (fa::Index Bc = 1; Bc <= 44; Bc += 5) {
      CAPTURE(Br, Bc);
      fa::check_close("out", Run(inputs, shape, {}, {.Br = Br, .Bc = Bc}).out, expected,
                      {{"b", 1}, {"h", 2}, {"i", 37}, {"d", 11}},
                      fa::forward_tolerance(inputs.q, inputs.k, inputs.v, expected, shape, {}));
    }
  }
}

TEST_CASE("out and lse agree with the oracle, whatever the shape and the tiles", "[step3]") {
  check_tiles_and_shapes(false);
}

TEST_CASE("out and lse agree with the oracle on inputs of every kind and any scale", "[step3]") {
  check_kinds_and_scales(false);
}

TEST_CASE("log-sum-exp is right to 1e-6 at logits of 1e3", "[step3]") {
  const fa::Shape shape{.Nq = 5, .Nk = 40, .D = 1};
  for (const float size : {-1e3f, 1e3f}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.q.assign(inputs.q.size(), 1.0f);
    for (float& key : inputs.k) key += size;
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
    fa::check_close("lse", Run(inputs, shape, {}, {.Br = 2, .Bc = 7}).lse.span(), oracle.lse, {{"i", 5}},
                    {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step3]") { check_not_a_number(false); }

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step3]") { check_infinite_scores(false); }

TEST_CASE("bytes through HBM are those of the formula", "[step3]") {
  check_traffic(false);
  // So the formulas may fill the table of the text: S and P, lse, traffic of standard and of tiled attention.
  for (const auto& [N, matrices, lse, standard, tiled] :
       {std::array<fa::Index, 5>{1024, 8'388'608, 4'096, 17'825'792, 8'916'992},
        {2048, 33'554'432, 8'192, 69'206'016, 34'611'200},
        {4096, 134'217'728, 16'384, 272'629'760, 136'331'264}}) {
    const fa::Shape shape{.Nq = N, .Nk = N, .D = 64};
    CHECK(fa::standard_forward_scratch(shape) == matrices);
    CHECK(fa::v2_forward_scratch(shape) == lse);
    CHECK(fa::standard_forward_traffic(shape).total() == standard);
    CHECK(fa::v2_forward_traffic(shape, {}, {.Br = 64, .Bc = 64}).total() == tiled);
  }
}

TEST_CASE("tiles in SRAM take what the contract says, whatever N is; memory grows as N", "[step3]") {
  const fa::Tiles tiles{.Br = 4, .Bc = 2};
  std::vector<double> n, bytes;
  for (const fa::Index N : {256, 512, 1024, 2048}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 3};
    const Run run(fa::make_inputs(shape), shape, {}, tiles);
    CHECK(run.sram.bytes_in_use() == 0);
    CHECK(run.sram.peak_bytes() == 4 * ((2 * 4 + 2 * 2) * 3 + 4 * 2 + 2 * 4));
    CHECK(run.unmetered_bytes == 0);
    n.push_back(double(N));
    bytes.push_back(double(run.scratch.peak_bytes() + run.sram.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
  // The tiles of the benchmark.
  const fa::Shape shape{.D = 64};
  CHECK(Run(fa::make_inputs(shape), shape, {}, {.Br = 64, .Bc = 64}).sram.peak_bytes() == 82'432);
}

TEST_CASE("bad arguments are named, and nothing is written", "[step3]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Tiles two{.Br = 2, .Bc = 2};
  Run(fa::make_inputs(shape), shape, {}, {});  // what is right is not rejected
  fa::check_rejects([&] { call_with_small("", shape, {.Br = 0, .Bc = 2}, 1000); }, "Br = 0");
  fa::check_rejects([&] { call_with_small("", shape, {.Br = 2, .Bc = -1}, 1000); }, "Bc = -1");
  fa::check_rejects([&] { call_with_small("", {.Nq = 2, .Nk = 3, .D = -2}, two, 1000); }, "D = -2");
  for (const std::string name : {"q", "k", "v", "out", "lse"}) {
    fa::check_rejects([&] { call_with_small(name, shape, two, 1000); }, name + " has ");
  }
  CHECK_THROWS_AS(call_with_small("", shape, two, 95), std::length_error);  // 96 bytes are needed
}

// ---- Step 4

TEST_CASE("causal: a query sees the keys up to its own, as worked by hand", "[step4]") {
  check_example(true, {.Br = 2, .Bc = 2});
}

TEST_CASE("causal: a tile is used as long as one of its queries sees a key of it", "[step4]") {
  check_example(true, {.Br = 3, .Bc = 1});
}

TEST_CASE("causal: the diagonal ends in the bottom-right corner when Nq and Nk differ", "[step4]") {
  for (const fa::Shape& shape :
       {fa::Shape{.Nq = 1, .Nk = 4, .D = 2}, {.Nq = 2, .Nk = 5, .D = 2}, {.Nq = 5, .Nk = 3, .D = 2}}) {
    check_against_oracle(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 2, .Bc = 2});
  }
}

TEST_CASE("causal: a query that sees no key gives zeros and -inf", "[step4]") {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};
  const Run run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 6, .Bc = 5});
  for (fa::Index i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(run.lse[i] == -fa::infinity);
    for (fa::Index d = 0; d < 3; ++d) CHECK(run.out[std::size_t(i * 3 + d)] == 0.0f);
  }
}

TEST_CASE("causal: out and lse agree with the oracle, whatever the shape and the tiles", "[step4]") {
  check_tiles_and_shapes(true);
}

TEST_CASE("causal: out and lse agree with the oracle on inputs of every kind and any scale", "[step4]") {
  check_kinds_and_scales(true);
}

TEST_CASE("causal: a NaN reaches what depends on it, and nothing else", "[step4]") { check_not_a_number(true); }

TEST_CASE("causal: -inf weighs nothing, +inf makes the rows NaN that see it", "[step4]") {
  check_infinite_scores(true);
}

TEST_CASE("causal: a tile that is hidden as a whole is not read", "[step4]") {
  // The worked example in tiles of two: of keys 0 to 2, the first Q tile reads two, the second all three.
  const Run example(kExampleInputs, kExample, {.causal = true}, {.Br = 2, .Bc = 2});
  CHECK(example.meter.of("k").read_bytes == (2 + 3) * 2 * 4);
  CHECK(example.meter.of("v").read_bytes == (2 + 3) * 2 * 4);
  // N = 8: of 4 · 4 pairs of tiles, 10 lie on or below the diagonal.
  const fa::Shape square{.Nq = 8, .Nk = 8, .D = 1};
  const Run run(fa::make_inputs(square), square, {.causal = true}, {.Br = 2, .Bc = 2});
  CHECK(run.meter.of("k").read_bytes == 10 * 2 * 4);
  check_traffic(true);
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step4][random]") { check_random(); }
