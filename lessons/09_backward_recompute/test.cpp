// The properties of lesson 09, in the order in which a teacher would look.

#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_backward.h"
#include "comparison.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_random.h"
#include "test_rows.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("tile_bytes counts four tiles of queries, four of keys, P, m and l, in bytes", "[step1]") {
  check_tile_bytes({.Br = 2, .Bc = 5}, 3, 4 * (4 * 6 + 4 * 15 + 10 + 2 * 2));
  check_tile_bytes({.Br = 5, .Bc = 2}, 3, 4 * (4 * 15 + 4 * 6 + 10 + 2 * 5));
  check_tile_bytes({.Br = 1, .Bc = 1}, 1, 4 * (4 + 4 + 1 + 2));
  check_tile_bytes({.Br = 32, .Bc = 32}, 64, 69888);
  CHECK(lesson::choose_tiles(kHopperSram, 64).Bc == 130);
  CHECK(lesson::choose_tiles(kHopperSram, 128).Bc == 53);
  // By the paper's formula, with M = 25,000 elements and d = 64, as in lesson 04: almost twice what there is.
  check_tile_bytes({.Br = 64, .Bc = 98}, 64, 4 * 47872);
}

TEST_CASE("what training keeps for one layer of GPT-2 medium, and where memory ends", "[step1]") {
  const fa::Shape shape = lesson::model_shape(1024);
  check_tile_bytes({.Br = 64, .Bc = 130}, shape.D, kHopperSram);  // a thread block's tiles: 227 KiB, whatever N is
  check_bytes("P", 4294967296, fa::score_elements(shape) * 4);
  check_bytes("m and l", 8388608, fa::v1_training_scratch(shape));
  check_bytes("P stored", 15036579840, lesson::training_bytes(shape, fa::Weights::stored));
  check_bytes("P recomputed", 2155872256, lesson::training_bytes(shape, fa::Weights::recomputed));
  for (const auto& [GB, stored, recomputed] : {std::array{16, 1058, 7599}, {80, 2467, 37998}, {141, 3302, 66972}}) {
    CAPTURE(GB);
    CHECK(lesson::longest_sequence(GB * fa::Index{1000000000}, fa::Weights::stored) == stored);
    CHECK(lesson::longest_sequence(GB * fa::Index{1000000000}, fa::Weights::recomputed) == recomputed);
  }
}

// ---- Step 2

TEST_CASE("the weights come back from the scores, m and l, as worked by hand", "[step2]") {
  check_weights({.q = {1, 1}, .k = kExampleInputs.k, .m = 2, .l = 1.503215f}, {0.665241, 0.244728, 0.090031});
  check_weights({.q = {1, 2}, .k = {2, 1, 4, -2}, .m = 2, .l = 2, .scale = 0.5f}, {0.5, std::exp(-2.0) / 2});
}

TEST_CASE("a tile has no softmax of its own: its weights are those in the whole row", "[step2]") {
  check_weights({.q = {1, 1}, .k = {2, 0, 0, 1}, .m = 2, .l = 1.503215f}, {0.665241, 0.244728});
  check_weights({.q = {1, 1}, .k = {-1, 1}, .m = 2, .l = 1.503215f}, {0.090031});
}

TEST_CASE("keys that are hidden or past the end weigh 0, however low m is", "[step2]") {
  // The row of zeros behind the last key has the score 0: e^(0 + 50000) would be inf.
  check_weights({.q = {1}, .k = {-5e4f, -5e4f - 1, 0, 0}, .m = -5e4f, .l = 1.367879f, .keys = 2},
                {0.731059, 0.268941, 0, 0});
  check_weights({.q = {1}, .k = {2, fa::nan}, .m = 2, .l = 1, .keys = 1}, {1, 0});
  check_weights({.q = {1}, .k = {2, 1}, .m = -fa::infinity, .l = 0, .keys = 0}, {0, 0});
}

TEST_CASE("a row with l = 0 weighs nothing, and a NaN stays one", "[step2]") {
  check_weights({.q = {1}, .k = {-fa::infinity, -fa::infinity}, .m = -fa::infinity, .l = 0}, {0, 0});
  check_weights({.q = {1}, .k = {2, 1}, .m = fa::nan, .l = fa::nan}, {fa::nan, fa::nan});
  check_weights({.q = {1}, .k = {2, fa::nan}, .m = 2, .l = fa::nan}, {fa::nan, fa::nan});
}

// ---- Step 3

TEST_CASE("one query adds to dv its weights, and to dk and dq what was worked by hand", "[step3]") {
  check_added(kExampleQuery, kExampleAdded);
}

TEST_CASE("delta is that of the whole row, though only a tile of it is here", "[step3]") {
  // The last key of the example alone. A delta from its p and dp would be 0.450153, its dk 0.409625.
  Query last = kExampleQuery;
  last.k = {-1, 1}, last.v = {5, 30}, last.p = {0.090031f};
  check_added(last, {.dq = {-0.283634, 0.283634}, .dk = {0.283634, 0.283634}, .dv = {0.090031, 0}});
}

TEST_CASE("gradients are added to what is there, scaled where they should be", "[step3]") {
  check_added(kExactQuery, {.dq = {10.25, 21.5}, .dk = {1.25, 2.5, 3.5, 5}, .dv = {6, 6.5, 7.5, 8.25}});
}

TEST_CASE("a key that is not seen adds nothing and gets nothing, whatever stands there", "[step3]") {
  const Query query{.q = {2}, .out = {1}, .dout = {1}, .k = {3, fa::nan}, .v = {5, fa::nan}, .p = {0.5f, 0}, .keys = 1};
  check_added(query, {.dq = {6}, .dk = {4, 0}, .dv = {0.5, 0}});
}

// ---- Step 4

TEST_CASE("a single key: dv is dout, dq and dk are 0", "[step4]") {
  for (const fa::Index D : {1, 16}) {
    const fa::Shape shape{.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = D};
    fa::Inputs inputs = fa::make_inputs(shape);
    inputs.q.assign(inputs.q.size(), 1.0f);
    inputs.k.assign(inputs.k.size(), -0.25f);  // the score is exact, and so is the weight 1
    const Run run(inputs, shape, {.scale = 1.0f}, {.Br = 4, .Bc = 4});
    fa::check_close("dv", run.dv, in_double(inputs.dout), {{"d", D}}, {});
    fa::check_close("dk", run.dk, std::vector<double>(inputs.k.size()), {{"d", D}}, {.absolute = 1e-5});
    fa::check_close("dq", run.dq, std::vector<double>(inputs.q.size()), {{"d", D}}, {.absolute = 1e-5});
  }
}

TEST_CASE("dq grows from K/V tile to K/V tile, as worked by hand", "[step4]") {
  const Forward forward(kExampleInputs, kExample, kExampleOptions);
  for (fa::Index Bc = 1; Bc <= 3; ++Bc) {
    CAPTURE(Bc);
    const Run run(kExampleInputs, forward, kExample, kExampleOptions, {.Br = 1, .Bc = Bc});
    fa::check_close("dv", run.dv, kExampleAdded.dv, {{"j", 3}, {"d", 2}}, kByHand);
    fa::check_close("dk", run.dk, kExampleAdded.dk, {{"j", 3}, {"d", 2}}, kByHand);
    fa::check_close("dq", run.dq, kExampleAdded.dq, {{"d", 2}}, kByHand);
  }
  // Two keys, with m, l and out of all three: what HBM holds after one K/V tile of Bc = 2.
  const fa::Inputs inputs = first_keys(kExampleInputs, kExample, 2);
  const Run first(inputs, forward, {.Nq = 1, .Nk = 2, .D = 2}, kExampleOptions, {.Br = 1, .Bc = 2});
  fa::check_close("dq after keys 0, 1", first.dq, std::vector{-1.130350, 0.281541}, {{"d", 2}}, kByHand);
}

TEST_CASE("after each K/V tile, dq is the gradient over the keys so far, and dk and dv are final", "[step4]") {
  const fa::Shape shape{.Nq = 6, .Nk = 11, .D = 3};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Forward forward(inputs, shape, {});
  const Run all(inputs, forward, shape, {}, {.Br = 4, .Bc = 3});
  for (const fa::Index keys : {3, 6, 9, 11}) {
    CAPTURE(keys);
    const Run run(first_keys(inputs, shape, keys), forward, {.Nq = 6, .Nk = keys, .D = 3}, {}, {.Br = 4, .Bc = 3});
    const std::size_t seen = run.dk.size();
    fa::check_close("dk", run.dk, in_double(std::span(all.dk).first(seen)), {{"j", keys}, {"d", 3}}, {});
    fa::check_close("dv", run.dv, in_double(std::span(all.dv).first(seen)), {{"j", keys}, {"d", 3}}, {});
    fa::check_close("dq", run.dq, query_gradient_over(inputs, shape, keys), {{"i", 6}, {"d", 3}},
                    {.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-5});
  }
}

TEST_CASE("a query that sees no key has dq = 0 and adds nothing, whatever it holds", "[step4]") {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};  // queries 0 to 7 see none
  fa::Inputs inputs = fa::make_inputs(shape);
  const Run clean(inputs, shape, {.causal = true}, {.Br = 6, .Bc = 5});
  for (std::size_t at = 0; at < 8 * 3; ++at) inputs.q[at] = inputs.dout[at] = fa::nan;
  const Run run(inputs, shape, {.causal = true}, {.Br = 6, .Bc = 5});
  fa::check_close("dq", std::span(run.dq).first(8 * 3), std::vector<double>(8 * 3), {{"i", 8}, {"d", 3}}, {});
  fa::check_close("dk", run.dk, in_double(clean.dk), {{"j", 12}, {"d", 3}}, {});
  fa::check_close("dv", run.dv, in_double(clean.dv), {{"j", 12}, {"d", 3}}, {});
}

TEST_CASE("the gradients agree with the oracle, whatever the shape and the tiles, causal or not", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) check_both_masks(fa::make_inputs(shape), shape, fa::ragged_tiles);
}

TEST_CASE("the gradients agree with the oracle on inputs of every kind and any scale", "[step4]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  const fa::Tiles tiles[] = {{.Br = 8, .Bc = 16}};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape, tiles);
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) check_both_masks(fa::make_inputs(shape), shape, tiles, scale);
}

TEST_CASE("ragged tails with all logits near -5e4: what lies past the end weighs nothing", "[step4]") {
  const fa::Shape shape{.B = 2, .H = 1, .Nq = 7, .Nk = 11, .D = 1};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(inputs.q.size(), 1.0f);
  for (float& key : inputs.k) key = std::round(4 * key) / 4 - 5e4f;  // a score that float holds exactly
  check_both_masks(inputs, shape, fa::ragged_tiles);
}

TEST_CASE("3 randn, N = 1024, D = 128, causal: finite, and right", "[step4]") {
  const fa::Shape shape{.Nq = 1024, .Nk = 1024, .D = 128};
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::vector<float>* operand : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout})
    for (float& value : *operand) value *= 3.0f;
  Expected(inputs, shape, {.causal = true}).check({.Br = 64, .Bc = 50});
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step4]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Inputs& inputs : nan_in_each_operand(shape)) check_both_masks(inputs, shape, fa::ragged_tiles);
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step4]") {
  for (fa::Inputs inputs : fa::inputs_with_infinite_scores()) {
    inputs.dout = {1, -2};
    CAPTURE(inputs.q, inputs.k);
    check_both_masks(inputs, fa::infinite_scores_shape, fa::ragged_tiles);
  }
}

TEST_CASE("k, v, dk and dv travel once; q, out, dout, m, l and dq once for each K/V tile", "[step4]") {
  check_buffers({.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 3}, {}, {.Br = 2, .Bc = 3}, 5 * 3);  // rows, K/V tiles
}

TEST_CASE("under a causal mask, a Q tile makes no trip for K/V tiles that it does not see", "[step4]") {
  // Q tiles of 2 rows see, of two K/V tiles: the first; both; both.
  check_buffers({.B = 2, .H = 3, .Nq = 6, .Nk = 6, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 4 + 4);
  // Queries 0 to 2 see no key, query 6 sees all 4. Q tiles of 2, 2, 2 and 1 rows see: none; the first; the first; both.
  check_buffers({.B = 1, .H = 2, .Nq = 7, .Nk = 4, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 2 + 2);
}

TEST_CASE("tiles take exactly tile_bytes of SRAM, whatever N is; memory grows as N", "[step4]") {
  const fa::Tiles tiles{.Br = 3, .Bc = 2};
  std::vector<double> n, bytes;
  for (const fa::Index N : {256, 512, 1024, 2048}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 3};
    const Run run(fa::make_inputs(shape), shape, {}, tiles);
    check_bytes("SRAM", lesson::tile_bytes(tiles, shape.D), run.sram.peak_bytes());
    check_bytes("heap, beside the SRAM", 0, run.unmetered_bytes);
    check_bytes("m and l", fa::v1_training_scratch(shape), run.scratch.peak_bytes());
    n.push_back(double(N));
    bytes.push_back(double(run.scratch.peak_bytes() + run.sram.peak_bytes()));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
}

TEST_CASE("bad arguments are named, and nothing is written", "[step4]") { check_bad_arguments(); }

// ---- Step 5

TEST_CASE("the formula gives the bytes worked by hand", "[step5]") {
  // [worked-example]
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic traffic = lesson::backward_traffic(shape, {}, {.Br = 32, .Bc = 32});
  check_bytes("N = 512, D = 64, Br = Bc = 32, read", 8716288, traffic.read_bytes);
  check_bytes("N = 512, D = 64, Br = Bc = 32, written", 2490368, traffic.written_bytes);
  // [/worked-example]
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step5]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) check_formula(shape, {.causal = causal});
  }
}

TEST_CASE("the formula agrees with the reference's at the sizes of real models", "[step5]") {
  const fa::Shape llama{.B = 1, .H = 32, .Nq = 32768, .Nk = 32768, .D = 128};
  for (const bool causal : {false, true}) {
    for (const fa::Shape& shape : {lesson::model_shape(1024), llama}) {
      CAPTURE(shape, causal);
      const fa::Traffic expected = fa::v1_backward_traffic(shape, {.causal = causal}, {.Br = 64, .Bc = 100});
      check_traffic("backward_traffic", expected,
                    lesson::backward_traffic(shape, {.causal = causal}, {.Br = 64, .Bc = 100}));
    }
  }
  fa::check_rejects([] { lesson::backward_traffic({.Nk = -3}, {}, {}); }, "Nk = -3");
  fa::check_rejects([] { lesson::backward_traffic({}, {}, {.Br = 1, .Bc = 0}); }, "Bc = 0");
}

TEST_CASE("for given tiles, twice the N is four times the bytes, and without a mask Br does not show", "[step5]") {
  const auto total = [](fa::Index N, fa::Index Br) {
    return double(lesson::backward_traffic({.Nq = N, .Nk = N, .D = 64}, {}, {.Br = Br, .Bc = 130}).total());
  };
  CHECK(std::abs(total(65536, 64) / total(32768, 64) - 4.0) <= 0.05);
  CHECK(total(65536, 64) == total(65536, 7));
}

TEST_CASE("V1 moves fewer bytes than the standard backward pass, which is counted too", "[step5]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 256, .Nk = 256, .D = 16};
  const fa::Inputs inputs = fa::make_inputs(shape);
  for (const bool causal : {false, true}) {
    const fa::Tiles tiles = lesson::choose_tiles(16 * 1024, shape.D);
    const fa::Traffic v1 = lesson::backward_traffic(shape, {.causal = causal}, tiles);
    const fa::Traffic standard = Expected(inputs, shape, {.causal = causal}).check_standard();
    check_traffic("standard backward pass", fa::standard_backward_traffic(shape), standard);
    CHECK(v1.total() < standard.total() / 2);
  }
}

TEST_CASE("the price is one product of five: MB and FLOP a byte in half precision", "[step5]") {
  check_against_standard(64, 174063616, 478150656);
  check_against_standard(128, 830930944, 486539264);
  for (const auto& [D, standard_MB, standard_intensity, v1_MB, v1_intensity] :
       {std::array{64, 239, 36, 40, 270}, {128, 243, 71, 222, 97}}) {
    const fa::Shape shape{.Nq = 4096, .Nk = 4096, .D = D};
    const fa::Tiles tiles = lesson::choose_tiles(2 * kHopperSram, D);  // as many elements as fit at 2 bytes
    const double stored = double(fa::backward_flops(shape, {}, fa::Weights::stored)), recomputed = 1.25 * stored;
    const double standard = double(fa::standard_backward_traffic(shape, 2).total());
    const double v1 = double(fa::v1_backward_traffic(shape, {}, tiles, 2).total());
    CHECK(double(fa::backward_flops(shape, {}, fa::Weights::recomputed)) == recomputed);
    CHECK(std::lround(standard / 1e6) == standard_MB);
    CHECK(std::lround(stored / standard) == standard_intensity);
    CHECK(std::lround(v1 / 1e6) == v1_MB);
    CHECK(std::lround(recomputed / v1) == v1_intensity);
  }
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step5][random]") { check_random(); }
