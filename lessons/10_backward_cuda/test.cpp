// The properties of lesson 10, in the order in which a teacher would look.

#include <stdexcept>
#include <string>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"
#include "test_backward.h"
#include "test_pair.h"
#include "test_random.h"
#include "test_standard.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("shared memory is counted as worked by hand", "[step1]") {
  // [shared-memory]
  // q, dout: 32 · 64 floats. k, v: 32 · 65. dk, dv: 32 · 64. P, dS: 32 · 32. m, l, delta: 32.
  check_bytes("Br = Bc = 32, D = 64", 2 * 8192 + 2 * 8320 + 2 * 8192 + 2 * 4096 + 3 * 128,
              lesson::shared_memory_bytes({.Br = 32, .Bc = 32}, 64));
  check_bytes("Br = Bc = 64, D = 64", 132352, lesson::shared_memory_bytes({.Br = 64, .Bc = 64}, 64));
  // Of 232,448 that a block has on an H200. With a column more in each matrix these tiles would not fit.
  check_bytes("Br = 64, Bc = 128, D = 64", 231168, lesson::shared_memory_bytes({.Br = 64, .Bc = 128}, 64));
  check_bytes("Br = Bc = 32, D = 128", 107136, lesson::shared_memory_bytes({.Br = 32, .Bc = 32}, 128));
  // q, dout: 3 · 2 floats, 24 bytes, so 32 each. k, v: 60, so 64. dk, dv: 40, so 48. P, dS: 60, so 64. Rows: 16 each.
  check_bytes("Br = 3, Bc = 5, D = 2", 2 * 32 + 2 * 64 + 2 * 48 + 2 * 64 + 3 * 16,
              lesson::shared_memory_bytes({.Br = 3, .Bc = 5}, 2));
  // [/shared-memory]
}

TEST_CASE("tiles that do not fit are rejected with both sizes, and nothing is written", "[step1]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 128};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, {}), shape);
  const fa::Tiles tiles{.Br = 64, .Bc = 128};  // fit in lesson 06
  const auto call = [&] { operands.backward({}, tiles); };
  const std::string asked = std::to_string(lesson::shared_memory_bytes(tiles, 128));
  const std::string limit = std::to_string(fa::device().shared_bytes_per_block);
  CHECK_THROWS_AS(call(), std::length_error);
  CHECK_THROWS_WITH(call(), Catch::Matchers::ContainsSubstring(asked) && Catch::Matchers::ContainsSubstring(limit));
  check_unwritten(operands);
}

// ---- Step 2

TEST_CASE("delta is the dot product of a row of dout and a row of out, as worked by hand", "[step2]") {
  Operands operands(example_inputs, example_forward(), example);
  operands.prepare();
  fa::check_close("delta", operands.delta.to_host(), std::vector{1.849579}, {{"i", 1}}, by_hand);
}

TEST_CASE("every row gets its delta and a dq of zeros, whatever the shape", "[step2]") {
  for (const fa::Shape& shape : fa::ragged_shapes) check_prepared(shape);
}

TEST_CASE("out and dout are read once; delta and dq are written once, and no sector in vain", "[step2]") {
  require_counts();
  check_traffic_of_prepare();
}

// ---- Step 3

TEST_CASE("a pair of tiles reads each of its rows once, and none past the end", "[step3]") {
  require_counts();
  for (const fa::Shape& shape : {fa::Shape{.Nq = 7, .Nk = 5, .D = 3}, fa::Shape{.Nq = 8, .Nk = 8, .D = 130}}) {
    CAPTURE(shape);
    FirstPair(3, shape, {}, {.Br = 8, .Bc = 8}).check_read(shape.Nq, shape.Nk);
  }
}

TEST_CASE("the lanes of a warp load neighbors, so no sector is fetched in vain", "[step3]") {
  require_counts();
  const FirstPair pair(3, {.Nq = 16, .Nk = 16, .D = 64}, {}, {.Br = 16, .Bc = 16});
  for (const std::string name : {"q", "k", "v", "dout"}) {
    check_bytes(name + ", in whole sectors", 4 * 16 * 64, in_sectors(pair.meter, name));
  }
}

TEST_CASE("a Q tile that sees none of the keys is not read", "[step3]") {
  require_counts();
  FirstPair(3, {.Nq = 6, .Nk = 3, .D = 2}, {.causal = true}, {.Br = 3, .Bc = 3}).check_read(3, 3);  // of 6
}

TEST_CASE("a Q tile is read as soon as its last query sees a key", "[step3]") {
  require_counts();
  FirstPair(3, {.Nq = 4, .Nk = 1, .D = 2}, {.causal = true}, {.Br = 4, .Bc = 1}).check_read(4, 1);  // for query 3
}

// ---- Step 4

TEST_CASE("P comes back from m and l", "[step4]") {
  // dp = 1 and delta = 0, so dS is P.
  check_row({.scores = {2, 1, 0}, .dp = {1, 1, 1}, .m = 2, .l = 1.503215f}, {0.665241, 0.244728, 0.090031});
  check_row({.scores = {0}, .dp = {1}, .m = 2, .l = 1.503215f}, {0.090031});  // alone in its tile, not 1
}

TEST_CASE("P comes back when all scores are low, and is 0 in a row with l = 0", "[step4]") {
  check_row({.scores = {-5e4f, -5e4f - 1}, .dp = {1, 1}, .m = -5e4f, .l = 1.367879f}, {0.731059, 0.268941});
  check_row({.scores = {1, 2}, .dp = {3, 4}, .m = -fa::infinity, .l = 0}, {0, 0});
}

TEST_CASE("a NaN in m and l stays one", "[step4]") {
  check_row({.scores = {2, 1}, .dp = {1, 1}, .m = fa::nan, .l = fa::nan}, {fa::nan, fa::nan});
}

TEST_CASE("dS is P (dP - delta)", "[step4]") {
  check_row({.scores = {2, 1, 0}, .dp = {1, 3, 5}, .m = 2, .l = 1.503215f, .delta = 1.849579f},
            {-0.565175, 0.281541, 0.283634});
}

TEST_CASE("dq grows from K/V tile to K/V tile, as worked by hand", "[step4]") {
  FirstPair pair(4, example_inputs, example_forward(), example, example_options, {.Br = 1, .Bc = 2});
  const auto check = [&](double first, double second) {
    fa::check_close("dq", pair.operands.dq.to_host(), std::vector{first, second}, {{"d", 2}}, by_hand);
  };
  check(-1.130350, 0.281541);
  as_far_as(4, [&] { pair.operands.absorb(example_options, {.Br = 1, .Bc = 2}, 1, 2); });
  check(-1.413984, 0.565175);
}

TEST_CASE("after one K/V tile, dq is the gradient over its keys", "[step4]") {
  const fa::Shape shape{.Nq = 9, .Nk = 13, .D = 5};
  for (const bool causal : {false, true}) {
    for (const fa::Index Bc : {4, 16}) check_first_tile(fa::make_inputs(shape), shape, {.causal = causal}, Bc);
  }
  const fa::Shape wide{.Nq = 7, .Nk = 3, .D = 300};  // with a scale that is no power of two
  check_first_tile(fa::make_inputs(wide), wide, {.causal = true, .scale = 0.03f}, 4);
}

TEST_CASE("a hidden key takes no part in dq, even if it is NaN", "[step4]") {
  const fa::Shape shape{.Nq = 2, .Nk = 2, .D = 1};
  const fa::Inputs inputs{.q = {1, 1}, .k = {1, fa::nan}, .v = {2, fa::nan}, .dout = {1, 1}};
  Forward forward;
  forward.out = {2, 2}, forward.m = {1, 1}, forward.l = {1, 1}, forward.delta = {0.5f, 0.5f};
  const FirstPair pair(4, inputs, forward, shape, {.causal = true}, {.Br = 2, .Bc = 2});
  fa::check_close("dq", pair.operands.dq.to_host(), std::vector<double>{1.5, fa::nan}, {{"i", 2}}, by_hand);
}

TEST_CASE("P and dS cost no byte of HBM, and dq crosses once each way", "[step4]") {
  require_counts();
  const fa::Shape shape{.Nq = 7, .Nk = 5, .D = 3};
  const FirstPair pair(4, shape, {}, {.Br = 8, .Bc = 8});
  pair.check_read(7, 5);
  check_traffic("dq", {4 * 7 * 3, 4 * 7 * 3}, pair.meter.of("dq"));
}

// ---- Step 5

TEST_CASE("a single key: dv is dout, dq and dk are 0", "[step5]") {
  for (const fa::Index D : {1, 16}) check_single_key(D);
}

TEST_CASE("all three gradients are as worked by hand, whatever the tiles", "[step5]") {
  for (const fa::Index Bc : {1, 2, 3}) check_example(Bc);
}

TEST_CASE("the invariant: dq is the gradient over the keys so far, and dk and dv of these are final", "[step5]") {
  for (const fa::Shape& shape :
       {fa::Shape{.B = 2, .H = 3, .Nq = 17, .Nk = 23, .D = 6}, fa::Shape{.B = 1, .H = 2, .Nq = 23, .Nk = 17, .D = 3}}) {
    for (const bool causal : {false, true}) check_invariant(shape, {.causal = causal}, {.Br = 5, .Bc = 4});
  }
}

TEST_CASE("all tiles in one launch give the bits of several launches", "[step5]") { check_one_launch_or_many(); }

TEST_CASE("a query that sees no key has dq = 0 and adds nothing, whatever it holds", "[step5]") {
  check_rows_without_keys();
}

TEST_CASE("the gradients agree with the oracle, whatever the shape and the tiles, causal or not", "[step5]") {
  for (const fa::Shape& shape : fa::ragged_shapes) check_both_masks(fa::make_inputs(shape), shape, tiles_that_fit);
  check_both_masks(fa::make_inputs(small_shape), small_shape, smallest_tiles);
}

TEST_CASE("D = 128 and more, D = 46, and rows that begin at no multiple of 16 bytes", "[step5]") {
  for (const fa::Index D : {46, 63, 127, 128, 150}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = 19, .Nk = 21, .D = D};
    check_both_masks(fa::make_inputs(shape), shape, {.Br = 16, .Bc = 8});
  }
}

TEST_CASE("the largest tiles that fit, run", "[step5]") {
  const fa::Shape shape{.Nq = 40, .Nk = 70, .D = 20};
  fa::Index Bc = 1;
  while (lesson::shared_memory_bytes({.Br = 32, .Bc = Bc + 1}, shape.D) <= fa::device().shared_bytes_per_block) ++Bc;
  check_both_masks(fa::make_inputs(shape), shape, {.Br = 32, .Bc = Bc});
}

TEST_CASE("tiles may have more rows than the block has threads", "[step5]") {
  check_both_masks(fa::make_inputs({.Nq = 600, .Nk = 5, .D = 2}), {.Nq = 600, .Nk = 5, .D = 2}, {.Br = 600, .Bc = 3});
}

TEST_CASE("the gradients agree with the oracle on inputs of every kind and any scale", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 27, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape, {.Br = 8, .Bc = 16});
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) {
    check_both_masks(fa::make_inputs(shape), shape, {.Br = 16, .Bc = 8}, scale);
  }
}

TEST_CASE("ragged tails with all logits near -5e4: what lies past the end weighs nothing", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 1, .Nq = 7, .Nk = 11, .D = 1};
  check_both_masks(inputs_with_low_logits(shape), shape, tiles_that_fit);
}

TEST_CASE("3 randn, D = 128, causal: finite, and right", "[step5][large]") {
  const fa::Index N = fa::counts_bytes ? 96 : 1024;  // a GPU's size is too much for the emulator
  const fa::Shape shape{.Nq = N, .Nk = N, .D = 128};
  const fa::Inputs inputs = three_times_normal(shape);
  Expected(inputs, shape, {.causal = true}).check({.Br = 16, .Bc = 20});
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step5]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Inputs& inputs : nan_in_each_operand(shape)) check_both_masks(inputs, shape, tiles_that_fit);
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step5]") {
  for (fa::Inputs inputs : fa::inputs_with_infinite_scores()) {
    inputs.dout = {1, -2};
    CAPTURE(inputs.q, inputs.k);
    check_both_masks(inputs, fa::infinite_scores_shape, {.Br = 3, .Bc = 3});
  }
}

TEST_CASE("k, v, dk, dv and out travel once; q, dout, m, l, delta and dq once for each K/V tile", "[step5]") {
  require_counts();
  check_buffers(small_shape, {}, {.Br = 2, .Bc = 3}, 5 * 3);  // rows, K/V tiles
}

TEST_CASE("under a causal mask, a Q tile makes no trip for K/V tiles that it does not see", "[step5]") {
  require_counts();
  // Q tiles of 2 rows see, of two K/V tiles: the first; both; both.
  check_buffers({.B = 2, .H = 3, .Nq = 6, .Nk = 6, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 4 + 4);
  // Queries 0 to 2 see no key, query 6 sees all 4. Q tiles of 2, 2, 2 and 1 rows see: none; the first; the first; both.
  check_buffers({.B = 1, .H = 2, .Nq = 7, .Nk = 4, .D = 3}, {.causal = true}, {.Br = 2, .Bc = 3}, 2 + 2 + 2);
}

TEST_CASE("the lanes of a warp take neighbors in every loop, so no sector moves in vain", "[step5]") {
  require_counts();
  check_sectors();
}

TEST_CASE("memory beyond operands and gradients is m, l and delta: it grows as N", "[step5]") { check_memory_grows(); }

TEST_CASE("two runs give the same bits", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 2, .Nq = 65, .Nk = 63, .D = 20};
  const fa::Inputs inputs = fa::make_inputs(shape);
  check_same_bits(run(inputs, shape, {}, {.Br = 16, .Bc = 16}), run(inputs, shape, {}, {.Br = 16, .Bc = 16}));
}

#ifndef FA_CUDA
TEST_CASE("the order in which the threads of a block run does not matter", "[step5]") { check_orders(); }
#else
TEST_CASE("an index may need more than 32 bits", "[step5][large]") { check_64_bit_indices(); }
#endif

TEST_CASE("bad arguments are named, and nothing is written", "[step5]") { check_bad_arguments(); }

// ---- Step 6

TEST_CASE("the formula gives the bytes worked by hand", "[step6]") {
  // [worked-example]
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic traffic = lesson::backward_traffic(shape, {}, {.Br = 32, .Bc = 32});
  check_bytes("N = 512, D = 64, Br = Bc = 32, read", 6914048, traffic.read_bytes);
  check_bytes("N = 512, D = 64, Br = Bc = 32, written", 2492416, traffic.written_bytes);
  // [/worked-example]
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step6]") {
  require_counts();
  for (const bool causal : {false, true}) {
    check_formula(small_shape, {.causal = causal}, smallest_tiles);
    for (const fa::Shape& shape : fa::ragged_shapes) check_formula(shape, {.causal = causal}, {.Br = 32, .Bc = 16});
    check_formula({.B = 1, .H = 3, .Nq = 65, .Nk = 31, .D = 8}, {.causal = causal}, {.Br = 7, .Bc = 5});
  }
  fa::check_rejects([] { lesson::backward_traffic({.Nk = -3}, {}, {}); }, "Nk = -3");
  fa::check_rejects([] { lesson::backward_traffic({}, {}, {.Br = 1, .Bc = 0}); }, "Bc = 0");
}

TEST_CASE("the standard pass that V1 is compared with is right, and counted too", "[step6]") {
  CHECK(lesson::backward_traffic({}, {}, {}).total() > 0);  // of this lesson, the last step
  check_standard();
}

TEST_CASE("the standard pass names what it rejects, and writes nothing", "[step6]") {
  CHECK(lesson::backward_traffic({}, {}, {}).total() > 0);
  check_rejected_by_standard();
}

TEST_CASE("bytes and FLOP of the passes at the shape of the paper's table", "[step6]") {
  check_at_the_shape_of_the_paper();
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step6][random]") { check_random(); }
