// The properties of lesson 04, in the order in which a teacher would look.

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "attention_forward.h"
#include "comparison.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("tile_bytes counts q, out, k, v, S, m and l, in bytes", "[step1]") {
  check_tile_bytes({.Br = 2, .Bc = 5}, 3, 4 * (2 * 6 + 2 * 15 + 10 + 2 * 2));
  check_tile_bytes({.Br = 5, .Bc = 2}, 3, 4 * (2 * 15 + 2 * 6 + 10 + 2 * 5));
  check_tile_bytes({.Br = 1, .Bc = 1}, 1, 4 * (2 + 2 + 1 + 2));
  check_tile_bytes({.Br = 32, .Bc = 32}, 64, 37120);
}

TEST_CASE("tiles by the paper's formula need more than there is", "[step1]") {
  // Bc = ceil(M / 4d), Br = min(Bc, d), with d = 64. M = 1000 elements give 4 and 4, 25,000 give 98 and 64.
  check_tile_bytes({.Br = 4, .Bc = 4}, 64, 4 * 1048);
  check_tile_bytes({.Br = 64, .Bc = 98}, 64, 4 * 27136);
  // The same with 100,000, the bytes of 25,000 elements, taken for M.
  check_tile_bytes({.Br = 64, .Bc = 391}, 64, 333568);
}

// ---- Step 2

TEST_CASE("sizes are bytes: 100,000 bytes at D = 64 hold 86 keys", "[step2]") {
  check_choice(100000, 64, {.Br = 64, .Bc = 86});
  check_choice(37120, 64, {.Br = 32, .Bc = 32});
  check_choice(kHopperSram, 64, {.Br = 64, .Bc = 259});
  check_choice(kHopperSram, 128, {.Br = 95, .Bc = 95});
}

TEST_CASE("the tiles fit, and one more key would not", "[step2]") {
  for (const fa::Index D : {64, 1, 3, 20, 63, 128, 256}) {
    for (const fa::Index sram_bytes : {4 * 1000, 49152, 65536, 100000, 101376, 166912, 232448}) {
      if (sram_bytes < 4 * (4 * D + 3)) continue;  // not even one row of each
      const auto bytes = [D](fa::Index Bc) {
        const fa::Index Br = std::min(Bc, D);
        return 4 * (2 * Br * D + 2 * Bc * D + Br * Bc + 2 * Br);
      };
      fa::Index Bc = 1;
      while (bytes(Bc + 1) <= sram_bytes) ++Bc;
      check_choice(sram_bytes, D, {.Br = std::min(Bc, D), .Bc = Bc});
    }
  }
}

TEST_CASE("an SRAM that is too small is named", "[step2]") {
  check_choice(4 * (4 * 64 + 3), 64, {.Br = 1, .Bc = 1});  // exactly one row of each
  fa::check_rejects([] { lesson::choose_tiles(4 * (4 * 64 + 3) - 1, 64); }, "sram_bytes = 1035");
  fa::check_rejects([] { lesson::choose_tiles(-5, 64); }, "sram_bytes = -5");
  fa::check_rejects([] { lesson::choose_tiles((1 << 27) + 1, 1); }, "sram_bytes = 134217729");
  fa::check_rejects([] { lesson::choose_tiles(1000, 0); }, "D = 0");
}

// ---- Step 3

TEST_CASE("a single key: out is its value, m its score, l is 1", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 16};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(16, 1.0f);
  inputs.k.assign(16, -0.25f);  // the score is -4, exactly
  const std::vector<double> v(inputs.v.begin(), inputs.v.end());
  const Run run(inputs, shape, {.scale = 1.0f}, {.Br = 4, .Bc = 4});
  fa::check_close("out", run.out, v, {{"d", 16}}, {});
  fa::check_close("(m, l)", std::vector<float>{run.m[0], run.l[0]}, std::vector<double>{-4, 1}, {{"component", 2}}, {});
}

TEST_CASE("out is normalized after each K/V tile, as worked by hand", "[step3]") {
  // D = 1, q = 1, so the scores are the keys. Of the keys 2, 1 alone, and of all three in both orders.
  const auto check = [](const fa::Inputs& inputs, const std::vector<double>& expected) {
    const fa::Shape shape{.Nq = 1, .Nk = fa::Index(inputs.k.size()), .D = 1};
    for (fa::Index Bc = shape.Nk; Bc >= 1; --Bc) {
      CAPTURE(inputs.k, Bc);
      const Run run(inputs, shape, {}, {.Br = 1, .Bc = Bc});
      fa::check_close("(m, l, out)", std::vector<float>{run.m[0], run.l[0], run.out[0]}, expected, {{"component", 3}},
                      {.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6});
    }
  };
  check({.q = {1}, .k = {2, 1}, .v = {1, 3}, .dout = {}}, {2, 1.367879, 1.537883});
  check({.q = {1}, .k = {2, 1, 0}, .v = {1, 3, 5}, .dout = {}}, {2, 1.503215, 1.849579});
  check({.q = {1}, .k = {0, 1, 2}, .v = {5, 3, 1}, .dout = {}}, {2, 1.503215, 1.849579});
}

TEST_CASE("all logits far below zero: no state begins with a finite maximum", "[step3]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 1};
  const fa::Inputs inputs{.q = {1, 2}, .k = {-5e4f, -5e4f - 1, -5e4f - 2}, .v = {1, 3, 5}, .dout = {}};
  for (const fa::Tiles& tiles : fa::ragged_tiles) check_against_oracle(inputs, shape, {}, tiles);
}

TEST_CASE("a query that sees no key has out = 0, m = -inf, l = 0", "[step3]") {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};  // queries 0 to 7 see none
  const Run run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 6, .Bc = 5});
  const std::vector<double> zeros(8 * 3, 0.0), infinities(8, fa::negative_infinity);
  fa::check_close("out", std::span(run.out).first(8 * 3), zeros, {{"i", 8}, {"d", 3}}, {});
  fa::check_close("m", run.m.span().first(8), infinities, {{"i", 8}}, {});
  fa::check_close("l", run.l.span().first(8), std::span(zeros).first(8), {{"i", 8}}, {});
}

TEST_CASE("out, m and l agree with the oracle, whatever the shape and the tiles, causal or not", "[step3]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : fa::ragged_tiles) check_both_masks(fa::make_inputs(shape), shape, tiles);
  }
}

TEST_CASE("out, m and l agree with the oracle on inputs of every kind and any scale", "[step3]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape, {.Br = 8, .Bc = 16});
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) {
    check_both_masks(fa::make_inputs(shape), shape, {.Br = 16, .Bc = 8}, scale);
  }
}

TEST_CASE("log-sum-exp, m + ln l, is right to 1e-6 at logits of 1e3", "[step3]") {
  const fa::Shape shape{.Nq = 5, .Nk = 40, .D = 1};
  for (const float size : {-1e3f, 1e3f}) {
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.q.assign(inputs.q.size(), 1.0f);
    for (float& key : inputs.k) key += size;
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
    fa::check_close("m + ln l", Run(inputs, shape, {}, {.Br = 2, .Bc = 7}).lse(), oracle.lse, {{"i", 5}},
                    {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
  }
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Tiles& tiles : fa::ragged_tiles) {
    for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) check_both_masks(inputs, shape, tiles);
  }
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step3]") {
  for (const fa::Tiles& tiles : fa::ragged_tiles) {
    for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
      CAPTURE(inputs.q, inputs.k);
      check_both_masks(inputs, fa::infinite_scores_shape, tiles);
    }
  }
}

TEST_CASE("k and v are read once; q, out, m and l travel once for each K/V tile", "[step3]") {
  // 5 rows meet each of 3 K/V tiles.
  check_buffers({.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 3}, {}, {.Br = 2, .Bc = 3}, 5 * 3);
}

TEST_CASE("under a causal mask, a Q tile makes no trip for K/V tiles that it does not see", "[step3]") {
  // Q tiles of 2 rows see, of two K/V tiles: the first; both; both.
  check_buffers({.B = 2, .H = 3, .Nq = 6, .Nk = 6, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 4 + 4);
  // Queries 0 to 2 see no key, query 6 sees all 4. Q tiles of 2, 2, 2 and 1 rows see: none; the first; the first; both.
  check_buffers({.B = 1, .H = 2, .Nq = 7, .Nk = 4, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 2 + 2);
}

TEST_CASE("tiles take exactly tile_bytes of SRAM, whatever N is; memory grows as N", "[step3]") {
  const fa::Tiles tiles{.Br = 3, .Bc = 2};
  std::vector<double> n, bytes;
  for (const fa::Index N : {256, 512, 1024, 2048}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 3};
    const Run run(fa::make_inputs(shape), shape, {}, tiles);
    CHECK(run.sram.bytes_in_use() == 0);
    check_bytes("SRAM", lesson::tile_bytes(tiles, shape.D), run.sram.peak_bytes());
    check_bytes("heap, beside the SRAM", 0, run.unmetered_bytes);
    n.push_back(double(N));
    bytes.push_back(double(run.scratch.peak_bytes() + run.sram.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
}

TEST_CASE("what choose_tiles answers, runs in that SRAM", "[step3]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 70, .Nk = 50, .D = 20};
  const fa::Tiles tiles = lesson::choose_tiles(10000, shape.D);
  const Run run(fa::make_inputs(shape), shape, {}, tiles);
  CHECK(run.sram.peak_bytes() <= 10000);
}

TEST_CASE("bad arguments are named, and nothing is written", "[step3]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Tiles two{.Br = 2, .Bc = 2};
  Run(fa::make_inputs(shape), shape, {}, {});  // what is right is not rejected
  fa::check_rejects([&] { call_with_small("", shape, {.Br = 0, .Bc = 2}, 1000); }, "Br = 0");
  fa::check_rejects([&] { call_with_small("", {.Nq = 2, .Nk = -3, .D = 2}, two, 1000); }, "Nk = -3");
  for (const std::string name : {"q", "k", "v", "out", "m", "l"}) {
    fa::check_rejects([&] { call_with_small(name, shape, two, 1000); }, name + " has ");
  }
  CHECK_THROWS_AS(call_with_small("", shape, two, 95), std::length_error);  // 96 bytes are needed
}

// ---- Step 4

TEST_CASE("the formula gives the bytes worked by hand", "[step4]") {
  // [worked-example]
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic traffic = lesson::forward_traffic(shape, {}, {.Br = 32, .Bc = 32});
  check_bytes("N = 512, D = 64, Br = Bc = 32, read", 4521984, traffic.read_bytes);
  check_bytes("N = 512, D = 64, Br = Bc = 32, written", 2162688 + 135168, traffic.written_bytes);
  // [/worked-example]
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : fa::ragged_tiles) {
      for (const bool causal : {false, true}) {
        const fa::Options options{.causal = causal};
        CAPTURE(shape, tiles, options);
        const Run run(fa::make_inputs(shape), shape, options, tiles);
        check_traffic("forward_traffic", run.meter.total(), lesson::forward_traffic(shape, options, tiles));
      }
    }
  }
}

TEST_CASE("the formula agrees with the reference's at the sizes of real models", "[step4]") {
  const fa::Shape gpt2{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
  const fa::Shape llama{.B = 1, .H = 32, .Nq = 32768, .Nk = 32768, .D = 128};
  for (const bool causal : {false, true}) {
    for (const fa::Shape& shape : {gpt2, llama}) {
      const fa::Options options{.causal = causal};
      const fa::Tiles tiles{.Br = 64, .Bc = 100};
      CAPTURE(shape, tiles, options);
      check_traffic("forward_traffic", fa::v1_forward_traffic(shape, options, tiles),
                    lesson::forward_traffic(shape, options, tiles));
    }
  }
  // The shape at which an H200's counters were read for the text.
  const fa::Shape measured{.B = 1, .H = 264, .Nq = 2048, .Nk = 2048, .D = 64};
  check_bytes("264 heads, read", 18270388224, lesson::forward_traffic(measured, {}, {.Br = 32, .Bc = 32}).read_bytes);
  fa::check_rejects([] { lesson::forward_traffic({.Nk = -3}, {}, {}); }, "Nk = -3");
  fa::check_rejects([] { lesson::forward_traffic({}, {}, {.Br = 1, .Bc = 0}); }, "Bc = 0");
}

TEST_CASE("for a given SRAM, the traffic grows as the square of N", "[step4]") {
  std::vector<double> n, bytes;
  for (const fa::Index N : {8192, 16384, 32768, 65536}) {
    n.push_back(double(N));
    bytes.push_back(double(lesson::forward_traffic({.Nq = N, .Nk = N, .D = 64}, {}, {.Br = 64, .Bc = 259}).total()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 2.0) <= 0.05);
}

TEST_CASE("without a mask, Br does not show in the traffic", "[step4]") {
  const fa::Shape shape{.Nq = 4096, .Nk = 4096, .D = 64};
  const fa::Traffic chosen = lesson::forward_traffic(shape, {}, {.Br = 64, .Bc = 259});
  for (const fa::Index Br : {1, 7, 100, 4096}) {
    CAPTURE(Br);
    check_traffic("forward_traffic", chosen, lesson::forward_traffic(shape, {}, {.Br = Br, .Bc = 259}));
  }
  // So the fewest bytes are those of Br = 1, which leaves room for more keys.
  CHECK(lesson::tile_bytes({.Br = 1, .Bc = 449}, 64) <= kHopperSram);
  CHECK(lesson::tile_bytes({.Br = 1, .Bc = 450}, 64) > kHopperSram);
  check_bytes("Br = 1, Bc = 449, total", 35291136, lesson::forward_traffic(shape, {}, {.Br = 1, .Bc = 449}).total());
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
    check_traffic("standard attention", fa::standard_forward_traffic(shape), meter.total());
    const fa::Tiles tiles = lesson::choose_tiles(16 * 1024, shape.D);
    CHECK(lesson::forward_traffic(shape, options, tiles).total() < meter.total().total() / 2);
  }
}

TEST_CASE("at D = 128 in float, V1 moves more than idealized standard attention", "[step4]") {
  const fa::Shape shape{.Nq = 4096, .Nk = 4096, .D = 128};
  check_bytes("standard attention, total", 276824064, fa::standard_forward_traffic(shape).total());
  check_bytes("V1, total", 286031872, lesson::forward_traffic(shape, {}, {.Br = 95, .Bc = 95}).total());
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step4][random]") { check_random(); }
