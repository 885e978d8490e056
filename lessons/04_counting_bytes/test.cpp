// The properties of lesson 04, in the order in which a teacher would look.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attention_forward.h"
#include "comparison.h"
#include "fa/testing.h"
#include "fa/traffic.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Both ways round, dividing nothing, smaller and larger than what they cut.
constexpr fa::Tiles kTiles[] = {{.Br = 1, .Bc = 1}, {.Br = 3, .Bc = 5},   {.Br = 5, .Bc = 3},
                                {.Br = 8, .Bc = 8}, {.Br = 32, .Bc = 16}, {.Br = 200, .Bc = 300}};

// One run: the outputs and everything that was metered.
struct Run {
  std::vector<float> out, m, l;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;  // m and l: what grows with N beyond q, k, v and out

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : out(fa::poisoned(fa::query_elements(shape))),
        m(fa::poisoned(fa::query_rows(shape))),
        l(fa::poisoned(fa::query_rows(shape))) {
    const auto statistics = scratch.allocate<float>("m and l", 2 * fa::query_rows(shape));
    lesson::attention_forward(meter.buffer("q", inputs.q), meter.buffer("k", inputs.k), meter.buffer("v", inputs.v),
                              meter.buffer("out", out), meter.buffer("m", m), meter.buffer("l", l), shape, options,
                              tiles, sram);
  }
};

void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                          const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Run run(inputs, shape, options, tiles);
  fa::check_close("out", run.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  std::vector<float> lse;
  for (std::size_t row = 0; row < run.m.size(); ++row) {
    lse.push_back(run.l[row] == 0.0f ? -kInfinity : run.m[row] + std::log(run.l[row]));
  }
  fa::check_close("m + ln l", lse, oracle.lse, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}},
                  fa::lse_tolerance(inputs.q, inputs.k, shape, options));
}

void check_traffic(const fa::Traffic& counted, const fa::Traffic& formula) {
  CHECK(counted.read_bytes == formula.read_bytes);
  CHECK(counted.written_bytes == formula.written_bytes);
}

}  // namespace

// ---- Step 1

TEST_CASE("the bytes of tiles: q, out, k, v, S, m and l", "[step1]") {
  CHECK(lesson::tile_bytes({.Br = 1, .Bc = 1}, 1) == 4 * (2 + 2 + 1 + 2));
  CHECK(lesson::tile_bytes({.Br = 32, .Bc = 16}, 64) == 4 * (2 * 32 * 64 + 2 * 16 * 64 + 32 * 16 + 2 * 32));
  // The paper's Bc = ⌈M / 4d⌉ and Br = min(Bc, d) at M = 25,000 elements and d = 64 give 98 and 64. They need more than
  // M.
  CHECK(lesson::tile_bytes({.Br = 64, .Bc = 98}, 64) == 4 * 27136);
}

// ---- Step 2

TEST_CASE("the tiles fit, and one more key would not", "[step2]") {
  for (const fa::Index D : {1, 3, 20, 63, 64, 128, 256}) {
    for (const fa::Index sram_bytes : {4 * 1000, 49152, 65536, 100000, 101376, 166912, 232448}) {
      if (sram_bytes < 4 * (4 * D + 3)) continue;  // not even one row of each
      CAPTURE(D, sram_bytes);
      const fa::Tiles tiles = lesson::choose_tiles(sram_bytes, D);
      CHECK(tiles.Bc >= 1);
      CHECK(tiles.Br == std::min(tiles.Bc, D));
      const auto bytes = [D](fa::Index Bc) {
        const fa::Index Br = std::min(Bc, D);
        return 4 * (2 * Br * D + 2 * Bc * D + Br * Bc + 2 * Br);
      };
      CHECK(bytes(tiles.Bc) <= sram_bytes);
      CHECK(bytes(tiles.Bc + 1) > sram_bytes);
    }
  }
}

TEST_CASE("sizes are bytes: 100,000 bytes at D = 64 hold 86 keys", "[step2]") {
  const fa::Tiles tiles = lesson::choose_tiles(100000, 64);
  CHECK(tiles.Bc == 86);
  CHECK(tiles.Br == 64);
}

TEST_CASE("an SRAM that is too small is named", "[step2]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK(lesson::choose_tiles(4 * (4 * 64 + 3), 64).Bc == 1);  // exactly one row of each
  CHECK_THROWS_WITH(lesson::choose_tiles(4 * (4 * 64 + 3) - 1, 64), ContainsSubstring("sram_bytes = 1035"));
  CHECK_THROWS_AS(lesson::choose_tiles(0, 64), std::invalid_argument);
  CHECK_THROWS_AS(lesson::choose_tiles(-5, 64), std::invalid_argument);
  CHECK_THROWS_WITH(lesson::choose_tiles(1000, 0), ContainsSubstring("D = 0"));
}

TEST_CASE("what choose_tiles answers, runs in that SRAM", "[step2]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 70, .Nk = 50, .D = 20};
  const fa::Tiles tiles = lesson::choose_tiles(10000, shape.D);
  const Run run(fa::make_inputs(shape), shape, {}, tiles);
  CHECK(run.sram.peak_bytes() <= 10000);
}

// ---- Step 3

TEST_CASE("a single key: out is its value, m its score, l is 1", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const std::vector<double> v(inputs.v.begin(), inputs.v.end());
  const Run run(inputs, shape, {.scale = 0.0f}, {.Br = 4, .Bc = 4});
  fa::check_close("out", run.out, v, {{"d", 16}}, {.absolute = 0, .relative = 0, .normwise = 0});
  CHECK(run.m[0] == 0.0f);
  CHECK(run.l[0] == 1.0f);
}

TEST_CASE("the worked example of lesson 02: m, l and the normalized output", "[step3]") {
  // D = 1, q = 1, so the scores are the keys.
  const fa::Shape shape{.Nq = 1, .Nk = 3, .D = 1};
  const fa::Inputs inputs{.q = {1}, .k = {2, 1, 0}, .v = {1, 3, 5}, .dout = {}};
  const fa::Inputs reversed{.q = {1}, .k = {0, 1, 2}, .v = {5, 3, 1}, .dout = {}};
  for (const fa::Inputs& example : {inputs, reversed}) {
    for (const fa::Index Bc : {1, 2, 3}) {
      CAPTURE(example.k, Bc);
      const Run run(example, shape, {}, {.Br = 1, .Bc = Bc});
      fa::check_close("(m, l, out)", std::vector<float>{run.m[0], run.l[0], run.out[0]},
                      std::vector<double>{2, 1.503215, 1.849579}, {{"component", 3}},
                      {.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6});
    }
  }
}

TEST_CASE("all logits far below zero: m does not start at 0", "[step3]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 1};
  const fa::Inputs inputs{.q = {1, 2}, .k = {-5e4f, -5e4f - 1, -5e4f - 2}, .v = {1, 3, 5}, .dout = {}};
  for (const fa::Tiles& tiles : kTiles) check_against_oracle(inputs, shape, {}, tiles);
}

TEST_CASE("out, m and l agree with the oracle, whatever the shape and the tiles, causal or not", "[step3]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      for (const bool causal : {false, true}) {
        check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal}, tiles);
      }
    }
  }
}

TEST_CASE("out, m and l agree with the oracle on inputs of every kind and any scale", "[step3]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const bool causal : {false, true}) {
    for (const fa::InputKind kind : fa::all_input_kinds) {
      INFO("inputs: " << fa::name_of(kind));
      check_against_oracle(fa::make_inputs(shape, kind), shape, {.causal = causal}, {.Br = 8, .Bc = 16});
    }
    for (const float scale : {0.0f, -0.7f, 100.0f}) {
      check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal, .scale = scale}, {.Br = 16, .Bc = 8});
    }
  }
}

TEST_CASE("a query that sees no key has out = 0, m = -inf, l = 0", "[step3]") {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};
  const Run run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 6, .Bc = 5});
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(run.m[i] == -kInfinity);
    CHECK(run.l[i] == 0.0f);
    for (std::size_t d = 0; d < 3; ++d) CHECK(run.out[i * 3 + d] == 0.0f);
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Tiles& tiles : kTiles) {
    for (const bool causal : {false, true}) {
      fa::Inputs in_query = fa::make_inputs(shape), in_key = in_query, in_value = in_query;
      in_query.q[5] = kNaN;   // query 1 of head 0
      in_key.k[21] = kNaN;    // key 5 of head 0
      in_value.v[22] = kNaN;  // value 5 of head 0
      check_against_oracle(in_query, shape, {.causal = causal}, tiles);
      check_against_oracle(in_key, shape, {.causal = causal}, tiles);
      check_against_oracle(in_value, shape, {.causal = causal}, tiles);
    }
  }
}

TEST_CASE("tiles take exactly tile_bytes of SRAM, whatever N is; memory grows as N", "[step3]") {
  const fa::Tiles tiles{.Br = 3, .Bc = 2};
  std::vector<double> n, bytes;
  for (const fa::Index N : {256, 512, 1024, 2048}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 3};
    const Run run(fa::make_inputs(shape), shape, {}, tiles);
    CHECK(run.sram.bytes_in_use() == 0);
    CHECK(run.sram.peak_bytes() == lesson::tile_bytes(tiles, shape.D));
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
  std::vector<float> out = fa::poisoned(4), m = fa::poisoned(2), l = fa::poisoned(2);
  const auto call = [&](const std::vector<float>& v, const fa::Shape& asked, const fa::Tiles& tiles,
                        fa::Index capacity) {
    fa::TrafficMeter meter;
    fa::Scratch sram("SRAM", capacity);
    lesson::attention_forward(meter.buffer("q", inputs.q), meter.buffer("k", inputs.k), meter.buffer("v", v),
                              meter.buffer("out", out), meter.buffer("m", m), meter.buffer("l", l), asked, {}, tiles,
                              sram);
  };
  const fa::Tiles tiles{.Br = 2, .Bc = 2};
  CHECK_THROWS_WITH(call(inputs.v, shape, {.Br = 0, .Bc = 2}, 1000), ContainsSubstring("Br = 0"));
  CHECK_THROWS_WITH(call(inputs.v, {.Nq = 2, .Nk = -3, .D = 2}, tiles, 1000), ContainsSubstring("Nk = -3"));
  CHECK_THROWS_WITH(call(inputs.q, shape, tiles, 1000), ContainsSubstring("v has 4 elements: must have 6"));
  CHECK_THROWS_AS(call(inputs.v, shape, tiles, 95), std::length_error);  // 96 bytes are needed
  for (const std::vector<float>& written : {out, m, l}) {
    for (const float value : written) CHECK(fa::is_poison(value));
  }
}

// ---- Step 4

TEST_CASE("the traffic of the worked example", "[step4]") {
  // N = 512, D = 64, Br = Bc = 32: Tc = 16, reads 2 N D + Tc (2 N D + 2 N), writes (Tc + 1)(N D + 2 N) floats.
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic traffic = lesson::forward_traffic(shape, {}, {.Br = 32, .Bc = 32});
  CHECK(traffic.read_bytes == 4521984);
  CHECK(traffic.written_bytes == 2162688 + 135168);
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      for (const bool causal : {false, true}) {
        const fa::Options options{.causal = causal};
        CAPTURE(shape, tiles, options);
        const Run run(fa::make_inputs(shape), shape, options, tiles);
        check_traffic(run.meter.total(), lesson::forward_traffic(shape, options, tiles));
      }
    }
  }
}

TEST_CASE("k and v are read once and never written; q is never written", "[step4]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 17, .Nk = 23, .D = 5};
  const Run run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 4, .Bc = 6});
  for (const char* name : {"k", "v"}) CHECK(run.meter.of(name) == fa::Traffic{4 * fa::key_elements(shape), 0});
  CHECK(run.meter.of("q").written_bytes == 0);
}

TEST_CASE("the formula agrees with the reference's at the sizes of real models", "[step4]") {
  for (const bool causal : {false, true}) {
    const fa::Options options{.causal = causal};
    const fa::Shape gpt2{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
    const fa::Shape llama{.B = 1, .H = 32, .Nq = 32768, .Nk = 32768, .D = 128};
    for (const fa::Shape& shape : {gpt2, llama}) {
      const fa::Tiles tiles{.Br = 64, .Bc = 100};
      check_traffic(lesson::forward_traffic(shape, options, tiles), fa::v1_forward_traffic(shape, options, tiles));
    }
  }
}

TEST_CASE("V1 moves fewer bytes than standard attention, which is counted too", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 256, .Nk = 256, .D = 16};
  const fa::Inputs inputs = fa::make_inputs(shape);
  for (const bool causal : {false, true}) {
    fa::TrafficMeter meter;
    fa::Scratch scratch;
    std::vector<float> out = fa::poisoned(fa::query_elements(shape));
    const fa::Options options{.causal = causal};
    lesson::standard_attention(meter.buffer("q", inputs.q), meter.buffer("k", inputs.k), meter.buffer("v", inputs.v),
                               meter.buffer("out", out), shape, options, meter, scratch);
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
    fa::check_close("out", out, oracle.out, {{"b", 1}, {"h", 2}, {"i", 256}, {"d", 16}},
                    fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
    check_traffic(meter.total(), fa::standard_forward_traffic(shape));
    const fa::Tiles tiles = lesson::choose_tiles(16384, shape.D);
    CHECK(lesson::forward_traffic(shape, options, tiles).total() < meter.total().total() / 2);
  }
}
