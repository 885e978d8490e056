// The properties of lesson 11, in the order in which a teacher would look.

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_forward.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("the grid has a block for each tile of queries of each head", "[step1]") {
  check_grid({.B = 1, .H = 16, .Nq = 4096, .Nk = 4096, .D = 64}, 64, 16, 1);  // 1024 blocks; lesson 06 has 16
  check_grid({.B = 2, .H = 3, .Nq = 65, .Nk = 7, .D = 5}, 2, 3, 2);           // the second tile has one query
  check_grid({.B = 2, .H = 3, .Nq = 64, .Nk = 7, .D = 5}, 1, 3, 2);
  check_grid({.B = 5, .H = 1, .Nq = 1, .Nk = 0, .D = 5}, 1, 1, 5);
  check_grid({.B = 2, .H = 3, .Nq = 0, .Nk = 7, .D = 5}, 0, 3, 2);
}

TEST_CASE("shared memory is counted as worked by hand", "[step1]") {
  // [shared-memory]
  // q: 64 · 65 floats. k and v: 32 · 65 each. P: 64 · 33.
  check_bytes("D = 64", 16640 + 2 * 8320 + 8448, lesson::shared_memory_bytes(64));
  // The same with 129 words a row: more than the 64 KiB that a block has on a T4.
  check_bytes("D = 128", 33024 + 2 * 16512 + 8448, lesson::shared_memory_bytes(128));
  // [/shared-memory]
  check_bytes("D = 33, as 64 columns", 41728, lesson::shared_memory_bytes(33));
  // q: 64 · 33 floats. k and v: 32 · 33 each. P as before.
  check_bytes("D = 1, as 32 columns", 8448 + 2 * 4224 + 8448, lesson::shared_memory_bytes(1));
}

#ifndef FA_CUDA
TEST_CASE("a block that does not fit is rejected with both sizes, and nothing is written", "[step1]") {
  check_too_large_a_block();
}
#endif

// ---- Step 2

TEST_CASE("without keys lse is -inf in every row of every head", "[step2]") {
  for (const fa::Shape& shape : {fa::Shape{.Nq = 1, .Nk = 0, .D = 1}, fa::Shape{.Nq = 64, .Nk = 0, .D = 33},
                                 fa::Shape{.B = 2, .H = 3, .Nq = 131, .Nk = 0, .D = 5}}) {
    check_without_keys(shape);
  }
}

TEST_CASE("lse crosses once, written by one thread of each row", "[step2]") {
  require_counts();
  for (const fa::Index Nq : {64, 5}) {
    CAPTURE(Nq);
    check_traffic("lse", {0, 4 * Nq}, Partly(2, {.Nq = Nq, .Nk = 0, .D = 3}).meter.of("lse"));
  }
}

// ---- Step 3

TEST_CASE("a tile of Q and one of K and V: each row is read once, and none past the end", "[step3]") {
  require_counts();
  for (const fa::Shape& shape : {fa::Shape{.Nq = 7, .Nk = 5, .D = 3}, fa::Shape{.Nq = 64, .Nk = 32, .D = 128},
                                 fa::Shape{.Nq = 64, .Nk = 31, .D = 33}}) {
    CAPTURE(shape);
    if (!fits(shape)) continue;
    const Partly run(3, shape);
    check_traffic("q", {4 * fa::query_elements(shape), 0}, run.meter.of("q"));
    check_traffic("k", {4 * fa::key_elements(shape), 0}, run.meter.of("k"));
    check_traffic("v", {4 * fa::key_elements(shape), 0}, run.meter.of("v"));
  }
}

TEST_CASE("the lanes of a warp load neighbors, so no sector is fetched in vain", "[step3]") {
  require_counts();
  const Partly run(3, {.Nq = 64, .Nk = 32, .D = 64});
  check_bytes("q, in whole sectors", 4 * 64 * 64, run.in_sectors("q"));
  for (const std::string name : {"k", "v"}) {
    check_bytes(name + ", in whole sectors", 4 * 32 * 64, run.in_sectors(name));
  }
}

// ---- Step 4: no test here sees u. lse = m + ln l says whether the scores, m and l are right.

TEST_CASE("the lse of a single key is its score", "[step4]") {
  const fa::Shape shape{.Nq = 1, .Nk = 1, .D = 16};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(16, 1.0f);
  inputs.k.assign(16, -0.25f);  // q · k is −4, exactly
  for (const float scale : {1.0f, 0.5f}) {
    const Partly run(4, inputs, shape, {.scale = scale});
    fa::check_close("lse", run.operands.lse.to_host(), std::vector{-4.0 * double(scale)}, {{"i", 1}}, {});
  }
}

TEST_CASE("lse after each tile is as worked by hand", "[step4]") {
  // [tiles-by-hand]
  // The scores 2, 1, 0 as the tiles [2, 1] and [0]; then in the other order, one key a tile.
  check_after_each_tile("lse", {{2, 1}, {0}}, {1, 3, 5}, {2.313262, 2.407606});
  check_after_each_tile("lse", {{0}, {1}, {2}}, {5, 3, 1}, {0, 1.313262, 2.407606});
  // [/tiles-by-hand]
}

TEST_CASE("a later tile may raise the maximum, and never lowers it", "[step4]") {
  check_after_each_tile("lse", {{0}, {200}, {-200}}, {1, 3, 5}, {0, 200, 200});
}

TEST_CASE("lse is right when all scores are negative, and when a key past Nk would score higher", "[step4]") {
  const fa::Inputs inputs{.q = {1, 2, 3, 4, 5, 6, 7, 8, 9},  // far apart: no row may take the maximum of another
                          .k = {-5e4f, -5e4f - 4, -5e4f - 8},
                          .v = {1, 3, 5},
                          .dout = {}};
  check_lse_of_a_block(inputs, {.Nq = 9, .Nk = 3, .D = 1}, {});
}

TEST_CASE("one tile: lse of every row is that of the keys that it sees", "[step4]") {
  for (const fa::Shape& shape : {fa::Shape{.Nq = 9, .Nk = 13, .D = 5}, fa::Shape{.Nq = 64, .Nk = 32, .D = 64},
                                 fa::Shape{.Nq = 33, .Nk = 31, .D = 70}, fa::Shape{.Nq = 31, .Nk = 17, .D = 32}}) {
    for (const bool causal : {false, true}) check_lse_of_a_block(fa::make_inputs(shape), shape, {.causal = causal});
  }
}

TEST_CASE("the invariant: keys that end with tile t give the lse of the tiles up to t", "[step4]") {
  check_state_after_each_tile();
}

TEST_CASE("the diagonal may cross several tiles of a block, and end anywhere", "[step4]") {
  for (const fa::Shape& shape : {fa::Shape{.Nq = 64, .Nk = 64, .D = 3}, fa::Shape{.Nq = 64, .Nk = 50, .D = 3},
                                 fa::Shape{.Nq = 40, .Nk = 101, .D = 3}}) {
    check_lse_of_a_block(fa::make_inputs(shape), shape, {.causal = true});
  }
}

TEST_CASE("the first query of a block may miss a single key of a tile", "[step4]") {
  for (const fa::Shape& shape : {fa::Shape{.Nq = 2, .Nk = 32, .D = 3}, fa::Shape{.Nq = 64, .Nk = 94, .D = 3}}) {
    check_lse_of_a_block(fa::make_inputs(shape), shape, {.causal = true});
  }
}

TEST_CASE("a hidden key does not reach lse, even if it is NaN", "[step4]") { check_hidden_keys_do_not_reach_lse(); }

TEST_CASE("lse is right to 1e-6 at logits of 1e3", "[step4]") {
  for (const float size : {-1e3f, 1e3f}) check_lse_of_logits(size);
}

TEST_CASE("the lowest scores are not taken for -inf", "[step4]") { check_low_scores(4); }

TEST_CASE("S and P cost no byte: a block reads q once, and each tile of K and V once", "[step4]") {
  require_counts();
  const fa::Shape shape{.Nq = 40, .Nk = 75, .D = 3};
  const Partly run(4, shape);
  check_traffic("q", {4 * 40 * 3, 0}, run.meter.of("q"));
  for (const char* name : {"k", "v"}) check_traffic(name, {4 * 75 * 3, 0}, run.meter.of(name));
  check_traffic("lse", {0, 4 * 40}, run.meter.of("lse"));
}

// ---- Step 5

TEST_CASE("a single key: out is its value", "[step5]") {
  for (const fa::Index D : {1, 16, 33, 128}) {
    const fa::Shape shape{.Nq = 1, .Nk = 1, .D = D};
    if (!fits(shape)) continue;
    const fa::Inputs inputs = fa::make_inputs(shape);
    const std::vector<double> value(inputs.v.begin(), inputs.v.end());
    fa::check_close("out", Partly(5, inputs, shape).operands.out.to_host(), value, {{"d", D}}, {});
  }
}

TEST_CASE("out after each tile is as worked by hand", "[step5]") {
  check_after_each_tile("out", {{2, 1}, {0}}, {1, 3, 5}, {1.537883, 1.849579});
  check_after_each_tile("out", {{0}, {1}, {2}}, {5, 3, 1}, {5, 3.537883, 1.849579});
}

TEST_CASE("a query that sees no key has out = 0 and lse = -inf", "[step5]") { check_rows_without_keys(); }

TEST_CASE("out and lse agree with the oracle, whatever the shape, causal or not", "[step5]") {
  for (const fa::Shape& shape : fa::ragged_shapes) check_both_masks(fa::make_inputs(shape), shape);
}

TEST_CASE("tiles that no query of the block sees are not loaded", "[step5]") {
  require_counts();
  // Blocks of 64 queries see 64, 128 and 130 keys: 2, 4 and 5 tiles, of which the last has 2 keys.
  check_buffers({.B = 1, .H = 2, .Nq = 130, .Nk = 130, .D = 3}, {.causal = true}, 64 + 128 + 130);
  check_buffers({.B = 1, .H = 1, .Nq = 130, .Nk = 130, .D = 3}, {}, 3 * 130);
  // Query 63 sees none of 30 keys, query 93 all of them.
  check_buffers({.B = 2, .H = 1, .Nq = 94, .Nk = 30, .D = 3}, {.causal = true}, 0 + 30);
  // Query 63 sees 33 of 40 keys: two tiles.
  check_buffers({.B = 1, .H = 1, .Nq = 71, .Nk = 40, .D = 3}, {.causal = true}, 40 + 40);
}

TEST_CASE("D = 1, 3, 32, 33, 64, 70, 128: columns beyond D are nothing", "[step5]") {
  for (const fa::Index D : {1, 3, 32, 33, 46, 63, 64, 70, 127, 128}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = 19, .Nk = 37, .D = D};
    check_both_masks(fa::make_inputs(shape), shape);
  }
}

TEST_CASE("lengths around the tiles, and Nq far from Nk", "[step5]") {
  for (const fa::Index Nq : {1, 63, 64, 65}) {
    for (const fa::Index Nk : {1, 31, 32, 33, 96}) {
      const fa::Shape shape{.B = 1, .H = 1, .Nq = Nq, .Nk = Nk, .D = 4};
      check_both_masks(fa::make_inputs(shape), shape);
    }
  }
}

TEST_CASE("out and lse agree with the oracle on inputs of every kind and any scale", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape);
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) check_both_masks(fa::make_inputs(shape), shape, scale);
  // Under a negative scale the largest q · k is the lowest score.
  const fa::Shape head{.Nq = 20, .Nk = 40, .D = 19};
  for (const float scale : {-5.0f, -100.0f}) check_both_masks(fa::make_inputs(head), head, scale);
}

TEST_CASE("two runs over parts of the keys merge into one run over all", "[step5]") {
  for (const fa::Index first : {1, 32, 50}) check_merge(first);
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step5]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) check_both_masks(inputs, shape);
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step5]") {
  for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
    CAPTURE(inputs.q, inputs.k);
    check_both_masks(inputs, fa::infinite_scores_shape);
  }
  // Weights of 0 alone, and one of the values NaN: 0 · NaN is NaN.
  fa::Inputs inputs{.q = {1, 1}, .k = std::vector<float>(4, -fa::infinity), .v = {1, fa::nan, 5, 2}, .dout = {}};
  check_both_masks(inputs, fa::infinite_scores_shape);
}

TEST_CASE("the lowest scores weigh as much as any others", "[step5]") { check_low_scores(5); }

TEST_CASE("0 in a query and inf in a key make the row NaN", "[step5]") {
  check_both_masks({.q = {0, 1, 1, 1}, .k = {fa::infinity, 1, 2, 1}, .v = {1, 2, 3, 4}, .dout = {}},
                   {.Nq = 2, .Nk = 2, .D = 2});
}

TEST_CASE("formula = count, to the byte, whatever the shape, causal or not", "[step5]") {
  require_counts();
  for (const bool causal : {false, true}) {
    for (const fa::Shape& shape : fa::ragged_shapes) check_formula(shape, {.causal = causal});
  }
}

TEST_CASE("the bytes worked by hand, for one head of 512", "[step5]") {
  require_counts();
  // [bytes]
  const fa::Shape shape{.Nq = 512, .Nk = 512, .D = 64};
  check_traffic("V2, Br = 64", {2228224, 133120}, counted(shape, {}));
  check_traffic("V2, Br = 64, causal", {1310720, 133120}, counted(shape, {.causal = true}));
  check_traffic("V1, Bc = 64", {2392064, 1216512}, fa::v1_forward_traffic(shape, {}, {.Br = 64, .Bc = 64}));
  check_traffic("V1, Bc = 128", {1327104, 675840}, fa::v1_forward_traffic(shape, {}, {.Br = 128, .Bc = 128}));
  // [/bytes]
}

TEST_CASE("the lanes of a warp load and store neighbors, so no sector moves in vain", "[step5]") {
  require_counts();
  check_sectors();
}

TEST_CASE("no memory beyond the operands is taken, however long the sequence", "[step5]") {
  for (const fa::Index N : {1, 64, 200}) check_bytes("HBM that attention_forward took", 0, memory_taken(N));
}

TEST_CASE("two runs give the same bits", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 2, .Nq = 65, .Nk = 63, .D = 20};
  const fa::Inputs inputs = fa::make_inputs(shape);
  check_same_bits(run(inputs, shape, {}), run(inputs, shape, {}));
}

#ifndef FA_CUDA
TEST_CASE("the order in which the threads of a block run does not matter", "[step5]") { check_orders(); }
#else
TEST_CASE("an index may need more than 32 bits", "[step5][large]") { check_64_bit_indices(); }
#endif

TEST_CASE("bad arguments are named, and nothing is written", "[step5]") {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  run(fa::make_inputs(shape), shape, {});  // what is right is not rejected
  check_rejected({.Nq = 2, .Nk = -3, .D = 2}, "Nk = -3");
  check_rejected({.Nq = 2, .Nk = 3, .D = 129}, "D = 129");
  check_rejected({.H = 65536, .Nq = 2, .Nk = 3, .D = 2}, "H = 65536");
  check_rejected({.B = 65536, .Nq = 2, .Nk = 3, .D = 2}, "B = 65536");
  check_rejected(shape, "scale", {.scale = fa::nan});
  for (const std::string name : {"q", "k", "v", "out", "lse"}) check_size_rejected(name);
}

TEST_CASE("65535 heads are accepted, and as many batches", "[step5]") { check_most_heads_and_batches(); }

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step5][random]") { check_random(); }
