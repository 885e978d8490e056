// The properties of lesson 06, in the order in which a teacher would look.

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_forward.h"
#include "test_limits.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("shared memory is counted as worked by hand", "[step1]") {
  // [shared-memory]
  // q, k and v: 32 · 65 floats each. S: 32 · 33. Three rows of 32.
  check_bytes("Br = Bc = 32, D = 64", 3 * 8320 + 4224 + 3 * 128, lesson::shared_memory_bytes({.Br = 32, .Bc = 32}, 64));
  // More than the 48 KiB that need no permission, and more than the 99 KiB of a small GPU.
  check_bytes("Br = Bc = 32, D = 128", 54144, lesson::shared_memory_bytes({.Br = 32, .Bc = 32}, 128));
  check_bytes("Br = Bc = 64, D = 128", 116480, lesson::shared_memory_bytes({.Br = 64, .Bc = 64}, 128));
  // q: 3 · 3 floats, 36 bytes, so 48. k and v: 60, so 64 each. S: 72, so 80. Rows: 12, so 16 each.
  check_bytes("Br = 3, Bc = 5, D = 2", 48 + 2 * 64 + 80 + 3 * 16, lesson::shared_memory_bytes({.Br = 3, .Bc = 5}, 2));
  // [/shared-memory]
}

TEST_CASE("tiles that do not fit are rejected with both sizes, and nothing is written", "[step1]") {
  // Tiles of 227 KiB in bytes, taken for elements: M / 4d with M in the wrong unit.
  check_tiles_too_large({.Nq = 2, .Nk = 3, .D = 128}, {.Br = 128, .Bc = 454});
}

#ifndef FA_CUDA
TEST_CASE("one byte more than the device has is too much, whatever the device", "[step1]") { check_one_byte_short(); }
#endif

// ---- Step 2

TEST_CASE("before any key, out = 0, m = -inf, l = 0, whatever the shape", "[step2]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    CAPTURE(shape);
    Operands operands(fa::make_inputs(shape), shape);
    operands.initialize();
    check_state(operands.state(), exact_state(fa::make_inputs(shape), shape, {}, 0), shape);
  }
}

TEST_CASE("the empty state is written once, and nothing is read for it", "[step2]") {
  require_counts();
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 65, .Nk = 1, .D = 5};
  Operands operands(fa::make_inputs(shape), shape);
  fa::DeviceMeter meter;
  operands.initialize();
  check_traffic("initialize", {0, 4 * (fa::query_elements(shape) + 2 * fa::query_rows(shape))}, meter.total());
}

// ---- Step 3

TEST_CASE("a pair of tiles reads each row of q, k and v once", "[step3]") {
  require_counts();
  for (const fa::Shape& shape : {fa::Shape{.Nq = 7, .Nk = 5, .D = 3}, fa::Shape{.Nq = 8, .Nk = 8, .D = 130}}) {
    CAPTURE(shape);
    const FirstPair pair(3, shape, {}, {.Br = 8, .Bc = 8});
    check_traffic("q", {4 * fa::query_elements(shape), 0}, pair.meter.of("q"), pair.question);
    check_traffic("k", {4 * fa::key_elements(shape), 0}, pair.meter.of("k"), pair.question);
    check_traffic("v", {4 * fa::key_elements(shape), 0}, pair.meter.of("v"), pair.question);
  }
}

TEST_CASE("the lanes of a warp load neighbors, so no sector is fetched in vain", "[step3]") {
  require_counts();
  const FirstPair pair(3, {.Nq = 16, .Nk = 16, .D = 64}, {}, {.Br = 16, .Bc = 16});
  for (const std::string name : {"q", "k", "v"}) {
    check_bytes(name + ", read in whole sectors", 4 * 16 * 64, pair.read_in_sectors(name), pair.question);
  }
}

TEST_CASE("a Q tile that sees none of the keys is not read", "[step3]") {
  require_counts();
  const FirstPair pair(3, {.Nq = 6, .Nk = 3, .D = 2}, {.causal = true}, {.Br = 3, .Bc = 3});
  check_traffic("q, without queries 0 to 2, which see no key", {3 * 2 * 4, 0}, pair.meter.of("q"), pair.question);
}

TEST_CASE("a Q tile is read as soon as its last query sees a key", "[step3]") {
  require_counts();
  const FirstPair pair(3, {.Nq = 4, .Nk = 1, .D = 2}, {.causal = true}, {.Br = 4, .Bc = 1});
  check_traffic("q, of which query 3 sees the key", {4 * 2 * 4, 0}, pair.meter.of("q"), pair.question);
}

// ---- Step 4

TEST_CASE("m is the largest score of the row", "[step4]") {
  for (const bool causal : {false, true}) {
    const fa::Shape shape{.Nq = 9, .Nk = 13, .D = 5};
    const fa::Inputs inputs = fa::make_inputs(shape);
    const fa::Options options{.causal = causal};
    CAPTURE(options);
    from_either_end([&] {
      const FirstPair pair(4, inputs, shape, options, {.Br = 16, .Bc = 16});
      check_rows_of(pair, pair.operands.m, exact_state(inputs, shape, options, shape.Nk).m, 1e-6);
    });
  }
}

TEST_CASE("m is right when all scores are negative, and when a key past Nk would score higher", "[step4]") {
  const fa::Inputs inputs{.q = {1, 2}, .k = {-5e4f, -5e4f - 4, -5e4f - 8}, .v = {1, 3, 5}, .dout = {}};
  const FirstPair pair(4, inputs, {.Nq = 2, .Nk = 3, .D = 1}, {}, {.Br = 4, .Bc = 4});
  fa::check_close("m", pair.operands.m.to_host(), std::vector<double>{-5e4, -1e5}, {{"i", 2}}, {});
}

TEST_CASE("m is the largest score so far: a later tile may raise it, and never lowers it", "[step4]") {
  check_after_each_tile("m", after_each_tile({1, 2, 0, 1, 3, 0}, {1, 3, 5, 7, 9, 11}, 2, 4).m, {2, 2, 3});
}

TEST_CASE("m crosses once each way for a pair of tiles", "[step4]") {
  require_counts();
  const FirstPair pair(4, {.Nq = 7, .Nk = 5, .D = 3}, {}, {.Br = 8, .Bc = 8});
  check_traffic("m", {4 * 7, 4 * 7}, pair.meter.of("m"), pair.question);
}

// ---- Step 5

TEST_CASE("l is the sum of e^(s - m) over the keys that the row sees", "[step5]") {
  for (const bool causal : {false, true}) {
    const fa::Shape shape{.Nq = 9, .Nk = 13, .D = 5};
    const fa::Inputs inputs = fa::make_inputs(shape);
    const fa::Options options{.causal = causal};
    CAPTURE(options);
    from_either_end([&] {
      const FirstPair pair(5, inputs, shape, options, {.Br = 16, .Bc = 16});
      check_rows_of(pair, pair.operands.l, exact_state(inputs, shape, options, shape.Nk).l, 1e-5);
    });
  }
}

TEST_CASE("the old l is rescaled when the maximum moves, as worked by hand", "[step5]") {
  // The scores 2, 1, 0 in tiles of two keys; then in the other order, one key a tile.
  check_after_each_tile("l", after_each_tile({2, 1, 0}, {1, 3, 5}, 2, 5).l, {1.367879, 1.503215});
  check_after_each_tile("l", after_each_tile({0, 1, 2}, {5, 3, 1}, 1, 5).l, {1, 1.367879, 1.503215});
}

TEST_CASE("l crosses once each way for a pair of tiles, and m not once more", "[step5]") {
  require_counts();
  const FirstPair pair(5, {.Nq = 7, .Nk = 5, .D = 3}, {}, {.Br = 8, .Bc = 8});
  for (const char* name : {"m", "l"}) check_traffic(name, {4 * 7, 4 * 7}, pair.meter.of(name), pair.question);
}

// ---- Step 6

TEST_CASE("a single key: out is its value, m its score, l is 1", "[step6]") {
  const fa::Shape shape{.Nq = 1, .Nk = 1, .D = 16};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(16, 1.0f);
  inputs.k.assign(16, -0.25f);  // the score is -4, exactly
  const State got = run(inputs, shape, {.scale = 1.0f}, {.Br = 4, .Bc = 4});
  fa::check_close("out", got.out, std::vector<double>(inputs.v.begin(), inputs.v.end()), {{"d", 16}}, {});
  fa::check_close("(m, l)", std::vector<float>{got.m[0], got.l[0]}, std::vector<double>{-4, 1}, {{"component", 2}}, {});
}

TEST_CASE("out is normalized after each K/V tile, as worked by hand", "[step6]") {
  // In tiles of two keys; then in the other order, one key a tile.
  check_after_each_tile("out", after_each_tile({2, 1, 0}, {1, 3, 5}, 2, 6).out, {1.537883, 1.849579});
  check_after_each_tile("out", after_each_tile({0, 1, 2}, {5, 3, 1}, 1, 6).out, {5, 3.537883, 1.849579});
}

TEST_CASE("a query that sees no key has out = 0, m = -inf, l = 0", "[step6]") { check_rows_without_keys(); }

TEST_CASE("the invariant: after every K/V tile, m, l and out are those of the keys seen so far", "[step6]") {
  for (const fa::Shape& shape :
       {fa::Shape{.B = 2, .H = 3, .Nq = 17, .Nk = 23, .D = 6}, fa::Shape{.B = 1, .H = 2, .Nq = 23, .Nk = 17, .D = 3}}) {
    for (const fa::Tiles& tiles : {fa::Tiles{.Br = 5, .Bc = 4}, fa::Tiles{.Br = 4, .Bc = 7}}) {
      for (const bool causal : {false, true}) check_invariant(shape, {.causal = causal}, tiles);
    }
  }
}

TEST_CASE("all tiles in one launch give the bits of several launches", "[step6]") { check_one_launch_or_many(); }

TEST_CASE("out, m and l agree with the oracle, whatever the shape and the tiles, causal or not", "[step6]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : tiles_that_fit) check_both_masks(fa::make_inputs(shape), shape, tiles);
  }
  check_both_masks(fa::make_inputs(small_shape), small_shape, smallest_tiles);
}

TEST_CASE("D = 128 and more, D = 46, and rows that begin at no multiple of 16 bytes", "[step6]") {
  for (const fa::Index D : {46, 63, 127, 128, 150, 300}) {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = 19, .Nk = 21, .D = D};
    check_both_masks(fa::make_inputs(shape), shape, {.Br = 16, .Bc = 8});
  }
}

TEST_CASE("tiles may have more rows than the block has threads", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 1100, .Nk = 5, .D = 2};
  check_both_masks(fa::make_inputs(shape), shape, {.Br = 1100, .Bc = 3});
}

TEST_CASE("the largest tiles that fit, run", "[step6]") { check_largest_tiles(); }

#ifndef FA_CUDA
TEST_CASE("tiles that take all the shared memory of the device, run", "[step6]") { check_tiles_that_fit_exactly(); }
#endif

TEST_CASE("out, m and l agree with the oracle on inputs of every kind and any scale", "[step6]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape, {.Br = 8, .Bc = 16});
  }
  for (const float scale : {0.0f, -0.7f, -2.0f, 100.0f}) {
    check_both_masks(fa::make_inputs(shape), shape, {.Br = 16, .Bc = 8}, scale);
  }
}

TEST_CASE("log-sum-exp, m + ln l, is right to 1e-6 at logits of 1e3", "[step6]") {
  for (const float size : {-1e3f, 1e3f}) check_lse_of_logits(size);
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step6]") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Tiles& tiles : tiles_that_fit) {
    for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) check_both_masks(inputs, shape, tiles);
  }
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step6]") {
  for (const fa::Tiles& tiles : tiles_that_fit) {
    for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
      CAPTURE(inputs.q, inputs.k);
      check_both_masks(inputs, fa::infinite_scores_shape, tiles);
    }
  }
}

TEST_CASE("the lowest scores are not taken for -inf", "[step6]") { check_low_scores(); }

TEST_CASE("k and v are read once; q, out, m and l travel once for each K/V tile", "[step6]") {
  require_counts();
  Operands operands(fa::make_inputs(small_shape), small_shape);
  fa::DeviceMeter meter;
  operands.forward({}, {.Br = 2, .Bc = 3});  // 5 rows meet each of 3 K/V tiles
  const fa::Index row = 4 * fa::heads(small_shape), met = 5 * 3, stores = 5 + met;
  for (const char* name : {"k", "v"}) check_traffic(name, {7 * 3 * row, 0}, meter.of(name));
  check_traffic("q", {met * 3 * row, 0}, meter.of("q"));
  check_traffic("out", {met * 3 * row, stores * 3 * row}, meter.of("out"));
  for (const char* name : {"m", "l"}) check_traffic(name, {met * row, stores * row}, meter.of(name));
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step6]") {
  require_counts();
  for (const bool causal : {false, true}) {
    check_formula(small_shape, {.causal = causal}, smallest_tiles);
    for (const fa::Shape& shape : fa::ragged_shapes) {
      for (const fa::Tiles& tiles : tiles_that_fit) check_formula(shape, {.causal = causal}, tiles);
    }
  }
}

TEST_CASE("the bytes that a GPU's counters showed are counted here, too", "[step6]") {
  require_counts();
  check_bytes_at_512({}, {4521984, 2162688 + 135168});
  check_bytes_at_512({.causal = true}, {2525184, 1284096});
}

TEST_CASE("memory beyond q, k, v and out is m and l: it grows as N", "[step6]") {
  std::vector<double> n, bytes;
  for (const fa::Index N : {64, 128, 256, 512}) {
    n.push_back(double(N));
    bytes.push_back(double(measured_scratch(N)));
  }
  CHECK(bytes == std::vector<double>{8 * 64, 8 * 128, 8 * 256, 8 * 512});
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
}

TEST_CASE("two runs give the same bits", "[step6]") {
  const fa::Shape shape{.B = 2, .H = 2, .Nq = 65, .Nk = 63, .D = 20};
  const fa::Inputs inputs = fa::make_inputs(shape);
  check_same_bits(run(inputs, shape, {}, {.Br = 16, .Bc = 16}), run(inputs, shape, {}, {.Br = 16, .Bc = 16}));
}

#ifndef FA_CUDA
TEST_CASE("the order in which the threads of a block run does not matter", "[step6]") { check_orders(); }
#else
TEST_CASE("an index may need more than 32 bits", "[step6][large]") { check_64_bit_indices(); }
#endif

TEST_CASE("bad arguments are named, and nothing is written", "[step6]") { check_rejections(); }

TEST_CASE("65535 heads are accepted, and more batches than that", "[step6]") { check_many_heads(); }

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step6][random]") { check_random(); }
