// The properties of lesson 03, in the order in which a teacher would look.

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const fa::Tolerance kTight{.absolute = 1e-6, .relative = 2e-6, .normwise = 2e-6};

// Both ways round, dividing nothing, smaller and larger than what they cut.
constexpr fa::Tiles kTiles[] = {{.Br = 1, .Bc = 1}, {.Br = 3, .Bc = 5},   {.Br = 5, .Bc = 3},
                                {.Br = 8, .Bc = 8}, {.Br = 32, .Bc = 16}, {.Br = 200, .Bc = 300}};

// One run: the outputs and everything that was metered.
struct Run {
  std::vector<float> out, lse;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;  // lse: what grows with N beyond q, k, v and out

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : out(fa::poisoned(fa::query_elements(shape))), lse(fa::poisoned(fa::query_rows(shape))) {
    const auto lse_bytes = scratch.allocate<float>("lse", fa::query_rows(shape));
    lesson::attention_forward(meter.buffer("q", inputs.q), meter.buffer("k", inputs.k), meter.buffer("v", inputs.v),
                              meter.buffer("out", out), meter.buffer("lse", lse), shape, options, tiles, sram);
  }
};

void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                          const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Run run(inputs, shape, options, tiles);
  fa::check_close("out", run.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  fa::check_close("lse", run.lse, oracle.lse, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}},
                  fa::lse_tolerance(inputs.q, inputs.k, shape, options));
}

void check_tiles_and_shapes(bool causal) {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles)
      check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal}, tiles);
  }
}

void check_kinds_and_scales(bool causal) {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_against_oracle(fa::make_inputs(shape, kind), shape, {.causal = causal}, {.Br = 8, .Bc = 16});
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) {
    check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal, .scale = scale}, {.Br = 16, .Bc = 8});
  }
}

void check_not_a_number(bool causal) {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Tiles& tiles : kTiles) {
    fa::Inputs in_query = fa::make_inputs(shape), in_key = in_query, in_value = in_query;
    in_query.q[5] = kNaN;   // query 1 of head 0
    in_key.k[21] = kNaN;    // key 5 of head 0
    in_value.v[22] = kNaN;  // value 5 of head 0
    check_against_oracle(in_query, shape, {.causal = causal}, tiles);
    check_against_oracle(in_key, shape, {.causal = causal}, tiles);
    check_against_oracle(in_value, shape, {.causal = causal}, tiles);
  }
}

// A row's state beside the arguments of absorb_row.
struct State {
  float m = -kInfinity, l = 0.0f;
  std::vector<float> u;

  void absorb(std::vector<float> scores, const std::vector<float>& values) {
    lesson::absorb_row(scores.data(), values.data(), m, l, u.data(), fa::Index(scores.size()), fa::Index(u.size()));
  }
  void check(const std::vector<double>& expected) const {
    std::vector<float> all{m, l};
    all.insert(all.end(), u.begin(), u.end());
    fa::check_close("(m, l, u...)", all, expected, {{"component", fa::Index(all.size())}}, kTight);
  }
};

}  // namespace

// ---- Step 1

TEST_CASE("a tile of scores, worked by hand", "[step1]") {
  // q = (1, 2), (3, 4);  k = (5, 6), (7, 8), (9, 1), stored transposed.
  const std::vector<float> q_tile{1, 2, 3, 4}, k_tile{5, 7, 9, 6, 8, 1};
  std::vector<float> s_tile = fa::poisoned(6);
  lesson::score_tile(q_tile.data(), k_tile.data(), s_tile.data(), 2, 3, 2, 0.5f);
  fa::check_close("s", s_tile, std::vector<double>{8.5, 11.5, 5.5, 19.5, 26.5, 15.5}, {{"row", 2}, {"column", 3}},
                  kTight);
}

TEST_CASE("a tile of scores of any extents", "[step1]") {
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

TEST_CASE("a row absorbs the worked example of lesson 02, in both tile orders", "[step2]") {
  // Two columns of values at once: v_0 = 1, 3, 5 as in the text, v_1 = −2 v_0.
  State state{.u = {0, 0}};
  state.absorb({2, 1}, {1, -2, 3, -6});
  state.check({2.0, 1.367879, 2.103638, -4.207277});
  state.absorb({0}, {5, -10});
  state.check({2.0, 1.503215, 2.780315, -5.560630});

  State reversed{.u = {0, 0}};
  reversed.absorb({0}, {5, -10});
  reversed.check({0.0, 1.0, 5.0, -10.0});
  reversed.absorb({2, 1}, {1, -2, 3, -6});
  reversed.check({2.0, 1.503215, 2.780315, -5.560630});
}

TEST_CASE("the weights replace the scores", "[step2]") {
  State state{.m = 3.0f, .l = 1.0f, .u = {1.0f}};
  std::vector<float> s_row{2, 1, 3};
  const std::vector<float> values{1, 2, 4};
  lesson::absorb_row(s_row.data(), values.data(), state.m, state.l, state.u.data(), 3, 1);
  fa::check_close("p", s_row, std::vector<double>{0.367879, 0.135335, 1}, {{"j", 3}}, kTight);
  state.check({3.0, 2.503215, 1 + 0.367879 + 2 * 0.135335 + 4});
}

TEST_CASE("all scores negative, or far below zero: the maximum does not start at 0", "[step2]") {
  State state{.u = {0}};
  state.absorb({-5e4f, -5e4f - 1}, {1, 3});
  state.check({-5e4, 1.367879, 2.103638});
}

TEST_CASE("no keys, and scores of -inf, leave the state as it is", "[step2]") {
  State state{.u = {0, 0}};
  state.absorb({}, {});
  state.absorb({-kInfinity, -kInfinity}, {1, 2, 3, 4});
  state.check({fa::negative_infinity, 0, 0, 0});
  state.absorb({2, 1}, {1, -2, 3, -6});
  state.absorb({-kInfinity}, {7, 7});
  state.check({2.0, 1.367879, 2.103638, -4.207277});
}

TEST_CASE("a NaN or a score of +inf stays in l and u", "[step2]") {
  for (const float bad : {kNaN, kInfinity}) {
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
  const fa::Inputs inputs = fa::make_inputs(shape);
  const std::vector<double> v(inputs.v.begin(), inputs.v.end());
  const Run run(inputs, shape, {.scale = 0.0f}, {.Br = 4, .Bc = 4});
  fa::check_close("out", run.out, v, {{"d", 16}}, {.absolute = 0, .relative = 0, .normwise = 0});
  CHECK(run.lse[0] == 0.0f);
}

TEST_CASE("out and lse agree with the oracle, whatever the shape and the tiles", "[step3]") {
  check_tiles_and_shapes(false);
}

TEST_CASE("out and lse agree with the oracle on inputs of every kind and any scale", "[step3]") {
  check_kinds_and_scales(false);
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

TEST_CASE("log-sum-exp is right to 1e-6 at logits of 1e3", "[step3]") {
  const fa::Shape shape{.Nq = 5, .Nk = 40, .D = 1};
  for (const float size : {-1e3f, 1e3f}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.q.assign(inputs.q.size(), 1.0f);
    for (float& key : inputs.k) key += size;
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
    fa::check_close("lse", Run(inputs, shape, {}, {.Br = 2, .Bc = 7}).lse, oracle.lse, {{"i", 5}},
                    {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step3]") { check_not_a_number(false); }

TEST_CASE("bytes through HBM are those of the formula", "[step3]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      CAPTURE(shape, tiles);
      const Run run(fa::make_inputs(shape), shape, {}, tiles);
      CHECK(run.meter.total().read_bytes == fa::v2_forward_traffic(shape, {}, tiles).read_bytes);
      CHECK(run.meter.total().written_bytes == fa::v2_forward_traffic(shape, {}, tiles).written_bytes);
    }
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
    n.push_back(double(N));
    bytes.push_back(double(run.scratch.peak_bytes() + run.sram.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
}

TEST_CASE("bad arguments are named, and nothing is written", "[step3]") {
  using Catch::Matchers::ContainsSubstring;
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Run(inputs, shape, {}, {});  // what is right is not rejected
  std::vector<float> out = fa::poisoned(4), lse = fa::poisoned(2);
  const auto call = [&](const std::vector<float>& k, const fa::Shape& asked, const fa::Tiles& tiles,
                        fa::Index capacity) {
    fa::TrafficMeter meter;
    fa::Scratch sram("SRAM", capacity);
    lesson::attention_forward(meter.buffer("q", inputs.q), meter.buffer("k", k), meter.buffer("v", inputs.v),
                              meter.buffer("out", out), meter.buffer("lse", lse), asked, {}, tiles, sram);
  };
  const fa::Tiles tiles{.Br = 2, .Bc = 2};
  CHECK_THROWS_WITH(call(inputs.k, shape, {.Br = 0, .Bc = 2}, 1000), ContainsSubstring("Br = 0"));
  CHECK_THROWS_WITH(call(inputs.k, shape, {.Br = 2, .Bc = -1}, 1000), ContainsSubstring("Bc = -1"));
  CHECK_THROWS_WITH(call(inputs.k, {.Nq = 2, .Nk = 3, .D = -2}, tiles, 1000), ContainsSubstring("D = -2"));
  CHECK_THROWS_WITH(call(inputs.q, shape, tiles, 1000), ContainsSubstring("k has 4 elements: must have 6"));
  CHECK_THROWS_AS(call(inputs.k, shape, tiles, 95), std::length_error);  // 96 bytes are needed
  for (const float value : out) CHECK(fa::is_poison(value));
  for (const float value : lse) CHECK(fa::is_poison(value));
}

// ---- Step 4

TEST_CASE("causal: out and lse agree with the oracle, whatever the shape and the tiles", "[step4]") {
  check_tiles_and_shapes(true);
}

TEST_CASE("causal: out and lse agree with the oracle on inputs of every kind and any scale", "[step4]") {
  check_kinds_and_scales(true);
}

TEST_CASE("causal: a NaN reaches what depends on it, and nothing else", "[step4]") { check_not_a_number(true); }

TEST_CASE("causal: a query that sees no key gives zeros and -inf", "[step4]") {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};
  const Run run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 6, .Bc = 5});
  for (fa::Index i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(run.lse[std::size_t(i)] == -kInfinity);
    for (fa::Index d = 0; d < 3; ++d) CHECK(run.out[std::size_t(i * 3 + d)] == 0.0f);
  }
}

TEST_CASE("causal: a tile that is hidden as a whole is not read", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      CAPTURE(shape, tiles);
      const fa::Options causal{.causal = true};
      const Run run(fa::make_inputs(shape), shape, causal, tiles);
      CHECK(run.meter.total().read_bytes == fa::v2_forward_traffic(shape, causal, tiles).read_bytes);
      CHECK(run.meter.total().written_bytes == fa::v2_forward_traffic(shape, causal, tiles).written_bytes);
    }
  }
  // N = 8, Br = Bc = 2: of 4 · 4 pairs of tiles, 10 lie on or below the diagonal.
  const fa::Shape square{.Nq = 8, .Nk = 8, .D = 1};
  const Run run(fa::make_inputs(square), square, {.causal = true}, {.Br = 2, .Bc = 2});
  CHECK(run.meter.of("k").read_bytes == 10 * 2 * 4);
  CHECK(run.meter.of("v").read_bytes == 10 * 2 * 4);
}
