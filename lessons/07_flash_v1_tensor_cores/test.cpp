// The properties of lesson 07, in the order in which a teacher would look.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_forward.h"
#include "test_limits.h"
#include "test_promises.h"
#include "test_random.h"
#include "test_steps.h"
#include "test_support.h"
#include "test_tiles.h"

using namespace support;

// ---- Step 1

TEST_CASE("shared memory is counted as worked by hand", "[step1]") {
  // [shared-memory]
  // k and v: 32 rows of 72 halves, 4608 bytes each. q, then P: the same. S, then P V: 32 rows of 68 floats.
  check_bytes("Br = Bc = 32, D = 64", 3 * 4608 + 8704, lesson::shared_memory_bytes({.Br = 32, .Bc = 32}, 64));
  // k and v: 64 · 136 halves, 17408 bytes each. q, then P: 128 · 136 halves. S, then P V: 128 · 132 floats.
  check_bytes("Br = 128, Bc = 64, D = 128", 2 * 17408 + 34816 + 67584,
              lesson::shared_memory_bytes({.Br = 128, .Bc = 64}, 128));
  // P is wider than q, and S wider than P V: rows of 136 halves, and of 132 floats.
  check_bytes("Br = 16, Bc = 128, D = 64", 2 * 18432 + 4352 + 8448,
              lesson::shared_memory_bytes({.Br = 16, .Bc = 128}, 64));
  // [/shared-memory]
}

TEST_CASE("tiles that do not fit are rejected with both sizes, and nothing is written", "[step1]") {
  check_tiles_too_large(exercise, {.Nq = 2, .Nk = 3, .D = 128}, {.Br = 256, .Bc = 128});
}

#ifndef FA_CUDA
TEST_CASE("one byte more than the device has is too much, whatever the device", "[step1]") {
  check_at_the_limit(exercise, -1);
}
#endif

// ---- Step 2

TEST_CASE("a pair of tiles reads each row of q, k and v once", "[step2]") {
  require_counts();
  in_both_formats([]<class T>() {
    for (const fa::Shape& shape : {fa::Shape{.Nq = 7, .Nk = 5, .D = 64}, fa::Shape{.Nq = 16, .Nk = 16, .D = 128}}) {
      CAPTURE(shape);
      const OneTile<T> pair(2, shape);
      check_traffic("q", {2 * fa::query_elements(shape), 0}, pair.meter.of("q"), pair.question);
      check_traffic("k", {2 * fa::key_elements(shape), 0}, pair.meter.of("k"), pair.question);
      check_traffic("v", {2 * fa::key_elements(shape), 0}, pair.meter.of("v"), pair.question);
    }
  });
}

TEST_CASE("the warps of a block share the work of reading k and v", "[step2]") {
  require_counts();
  const fa::Shape shape{.Nq = 40, .Nk = 33, .D = 64};
  const OneTile<fa::half> pair(2, shape, {}, {.Br = 48, .Bc = 48});
  for (const char* name : {"k", "v"}) {
    check_traffic(name, {2 * fa::key_elements(shape), 0}, pair.meter.of(name), pair.question);
  }
}

TEST_CASE("the lanes of a warp load neighbors, so no sector is fetched in vain", "[step2]") {
  require_counts();
  const OneTile<fa::half> pair(2, {.Nq = 16, .Nk = 32, .D = 64}, {}, {.Br = 16, .Bc = 32});
  check_bytes("q, read in whole sectors", 2 * 16 * 64, pair.in_sectors("q"), pair.question);
  for (const std::string name : {"k", "v"}) {
    check_bytes(name + ", read in whole sectors", 2 * 32 * 64, pair.in_sectors(name), pair.question);
  }
}

TEST_CASE("queries that see none of a later tile's keys are not read", "[step2]") {
  require_counts();
  // The tile holds keys 16 to 31: queries 0 to 15 see none of them.
  const OneTile<fa::half> pair(2, {.Nq = 32, .Nk = 32, .D = 64}, {.causal = true}, {.Br = 16, .Bc = 16}, 1);
  check_traffic("q, without queries 0 to 15", {2 * 16 * 64, 0}, pair.meter.of("q"), pair.question);
}

TEST_CASE("16 queries are read as soon as the last of them sees a key", "[step2]") {
  require_counts();
  const OneTile<fa::half> pair(2, {.Nq = 16, .Nk = 17, .D = 64}, {.causal = true}, {.Br = 16, .Bc = 16}, 1);
  check_traffic("q, of which query 15 sees key 16", {2 * 16 * 64, 0}, pair.meter.of("q"), pair.question);
}

TEST_CASE("the first tile is met by all queries, even by those that see none of its keys", "[step2]") {
  require_counts();
  const OneTile<fa::half> pair(2, {.Nq = 16, .Nk = 0, .D = 64});
  check_traffic("q, without a key", {2 * 16 * 64, 0}, pair.meter.of("q"), pair.question);
}

// ---- Step 3

TEST_CASE("m is the largest score of the row", "[step3]") {
  in_both_formats([]<class T>() {
    check_statistic_of_a_pair<T>(Statistic::m, 3, {.Nq = 16, .Nk = 16, .D = 64}, {.Br = 16, .Bc = 16});
    check_statistic_of_a_pair<T>(Statistic::m, 3, {.Nq = 9, .Nk = 13, .D = 128}, {.Br = 16, .Bc = 16});
    check_statistic_of_a_pair<T>(Statistic::m, 3, {.Nq = 16, .Nk = 85, .D = 64}, {.Br = 16, .Bc = 96});
  });
}

TEST_CASE("m is right whatever the scale", "[step3]") {
  for (const float scale : {1.0f, -0.7f, 0.0f}) {
    check_statistic_of_a_pair<fa::half>(Statistic::m, 3, {.Nq = 11, .Nk = 23, .D = 64}, {.Br = 16, .Bc = 32}, scale);
  }
}

TEST_CASE("m is right in the rows of each of two warps", "[step3]") {
  check_statistic_of_a_pair<fa::half>(Statistic::m, 3, {.Nq = 29, .Nk = 47, .D = 64}, {.Br = 32, .Bc = 48});
}

TEST_CASE("m is right when all scores are negative, and when a key past Nk would score higher", "[step3]") {
  in_both_formats([]<class T>() {
    const fa::Inputs inputs{.q = in_first_column({1, 2}),
                            .k = in_first_column({-49152, -49408, -49664}),
                            .v = in_first_column({1, 3, 5}),
                            .dout = {}};
    const OneTile<T> pair(3, inputs, {.Nq = 2, .Nk = 3, .D = 64}, {.scale = 1.0f});
    check_rows_of(pair, pair.operands.state.m, 0, std::vector<double>{-49152, -98304}, 0.0);
  });
}

TEST_CASE("m is the largest score so far: a later tile may raise it, and never lowers it", "[step3]") {
  in_both_formats([]<class T>() {
    const RowState after = after_each_tile<T>(3, {{1, 2}, {0, 1}, {3, 0}}, {1, 3, 5, 7, 9, 11});
    check_after_each_tile("m", after.m, {2, 2, 3});
    check_after_each_tile("m", after_each_tile<T>(3, {{4}, {2}}, {1, 3}, 0.5f).m, {2, 2});  // scaled once, too
  });
}

TEST_CASE("m crosses once each way for a pair of tiles, and the first one reads none", "[step3]") {
  require_counts();
  const fa::Shape shape{.Nq = 7, .Nk = 32, .D = 64};
  for (const fa::Index tile : {0, 1}) {
    CAPTURE(tile);
    const OneTile<fa::half> pair(3, shape, {}, {.Br = 16, .Bc = 16}, tile);
    check_traffic("m", {tile == 0 ? 0 : 4 * 7, 4 * 7}, pair.meter.of("m"), pair.question);
  }
}

// ---- Step 4

TEST_CASE("l is the sum of e^(s - m) over the keys that the row sees", "[step4]") {
  in_both_formats([]<class T>() {
    check_statistic_of_a_pair<T>(Statistic::l, 4, {.Nq = 16, .Nk = 16, .D = 64}, {.Br = 16, .Bc = 16});
    check_statistic_of_a_pair<T>(Statistic::l, 4, {.Nq = 9, .Nk = 13, .D = 128}, {.Br = 16, .Bc = 16});
    check_statistic_of_a_pair<T>(Statistic::l, 4, {.Nq = 16, .Nk = 85, .D = 64}, {.Br = 16, .Bc = 96});
    check_statistic_of_a_pair<T>(Statistic::l, 4, {.Nq = 29, .Nk = 47, .D = 64}, {.Br = 32, .Bc = 48});
  });
}

TEST_CASE("the old l is rescaled when the maximum moves, as worked by hand", "[step4]") {
  // The scores 2, 1, 0 in tiles of two keys; then in the other order, one key a tile; then of 4, 2, 0 and a scale.
  in_both_formats([]<class T>() {
    check_after_each_tile("l", after_each_tile<T>(4, {{2, 1}, {0}}, {1, 3, 5}).l, {1.367879, 1.503215});
    check_after_each_tile("l", after_each_tile<T>(4, {{0}, {1}, {2}}, {5, 3, 1}).l, {1, 1.367879, 1.503215});
    check_after_each_tile("l", after_each_tile<T>(4, {{4, 2}, {0}}, {1, 3, 5}, 0.5f).l, {1.367879, 1.503215});
  });
}

TEST_CASE("l crosses once each way for a pair of tiles, the first one reads none, and m not once more", "[step4]") {
  require_counts();
  const fa::Shape shape{.Nq = 7, .Nk = 32, .D = 64};
  for (const fa::Index tile : {0, 1}) {
    CAPTURE(tile);
    const OneTile<fa::half> pair(4, shape, {}, {.Br = 16, .Bc = 16}, tile);
    for (const char* name : {"m", "l"}) {
      check_traffic(name, {tile == 0 ? 0 : 4 * 7, 4 * 7}, pair.meter.of(name), pair.question);
    }
  }
}

// ---- Step 5

TEST_CASE("a single key: out is its value, m its score, l is 1", "[step5]") {
  const fa::Shape shape{.Nq = 1, .Nk = 1, .D = 64};
  in_both_formats([&]<class T>() {
    fa::Inputs inputs = inputs_of<T>(shape);
    inputs.q.assign(64, 1.0f);
    inputs.k.assign(64, -0.25f);  // the score is -16, exactly
    const Result got = run<T>(Kernel::exercise, inputs, shape, {.scale = 1.0f}, {.Br = 16, .Bc = 16});
    fa::check_close("out", got.out, std::vector<double>(inputs.v.begin(), inputs.v.end()), {{"d", 64}}, {});
    fa::check_close("(m, l)", std::vector{got.m[0], got.l[0]}, std::vector<double>{-16, 1}, {{"component", 2}}, {});
  });
}

TEST_CASE("the two formats round the weights and the result, as worked by hand", "[step5]") {
  // [worked-example]
  // The scores 2, 1, 0 weigh 1, 0.36787945, 0.13533528. Each format holds the nearest numbers that it has.
  CHECK(float(fa::half(0.36787945f)) == 0.36791992f);
  CHECK(float(fa::half(0.13533528f)) == 0.13537598f);
  CHECK(float(fa::bfloat16(0.36787945f)) == 0.3671875f);
  CHECK(float(fa::bfloat16(0.13533528f)) == 0.13574219f);
  CHECK(float(fa::half(2048.0f + 1.0f)) == 2048.0f);  // a sum in fp16 stops here

  // With the values 1, 3, 5, P V is 2.7806396 in fp16 and 2.7802734 in bfloat16. Divided by l = 1.5032147, and rounded:
  const std::vector<float> scores{2, 1, 0}, values{1, 3, 5};
  CHECK(after_each_tile<fa::half>(5, {scores}, values).result[0] == 1.8496094f);      // before rounding 1.8497953
  CHECK(after_each_tile<fa::bfloat16>(5, {scores}, values).result[0] == 1.8515625f);  // before rounding 1.8495517
  // [/worked-example]
}

TEST_CASE("partial is normalized after each K/V tile, and the last one writes out, as worked by hand", "[step5]") {
  // In tiles of two keys; then in the other order, one key a tile.
  in_both_formats([]<class T>() {
    const double u = 2 * fa::unit_roundoff<T>;
    check_after_each_tile("result", after_each_tile<T>(5, {{2, 1}, {0}}, {1, 3, 5}).result, {1.537883, 1.849579}, u);
    check_after_each_tile("result", after_each_tile<T>(5, {{0}, {1}, {2}}, {5, 3, 1}).result, {5, 3.537883, 1.849579},
                          u);
  });
}

TEST_CASE("partial is not rounded: equal scores weigh 1, exactly", "[step5]") {
  in_both_formats([]<class T>() {
    const RowState after = after_each_tile<T>(5, {{2, 2, 2}, {2, 2, 2, 2}, {2}}, {1, 3, 7, 2, 5, 1, 3, 7});
    check_after_each_tile("partial", {after.result[0], after.result[1]}, {11.0 / 3, 22.0 / 7});
    CHECK(after.result[2] == float(T(29.0f / 8)));
  });
}

TEST_CASE("a query that sees no key has out = 0, m = -inf, l = 0", "[step5]") { check_rows_without_keys(exercise); }

TEST_CASE("the invariant: after every K/V tile, m, l and partial are those of the keys seen so far", "[step5]") {
  in_both_formats([]<class T>() {
    for (const bool causal : {false, true}) {
      check_invariant<T>({.B = 2, .H = 3, .Nq = 17, .Nk = 41, .D = 64}, {.causal = causal}, {.Br = 16, .Bc = 16});
      check_invariant<T>({.B = 1, .H = 2, .Nq = 41, .Nk = 33, .D = 128}, {.causal = causal}, {.Br = 32, .Bc = 16});
    }
  });
}

TEST_CASE("all tiles in one launch give the bits of several launches", "[step5]") { check_one_launch_or_many(); }

TEST_CASE("out, m and l agree with the oracle, whatever the shape and the tiles, causal or not", "[step5]") {
  check_ragged_shapes(exercise);
}

TEST_CASE("the largest tiles that fit, run", "[step5]") { check_largest_tiles(exercise); }

#ifndef FA_CUDA
TEST_CASE("tiles that take all the shared memory of the device, run", "[step5]") { check_at_the_limit(exercise, 0); }
#endif

TEST_CASE("out, m and l agree with the oracle on inputs of every kind and any scale", "[step5]") {
  check_kinds_and_scales(exercise);
}

TEST_CASE("the error is at most twice that of standard attention in the same format", "[step5]") {
  check_accuracy(exercise);
}

TEST_CASE("log-sum-exp, m + ln l, is right to 1e-6 at logits of 1e3", "[step5]") { check_lse_of_logits(exercise); }

TEST_CASE("a NaN or an infinity reaches what depends on it, and nothing else", "[step5]") { check_nan(exercise); }

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step5]") {
  check_infinite_scores(exercise);
}

TEST_CASE("the lowest scores are not taken for -inf", "[step5]") { check_low_scores(exercise); }

TEST_CASE("k and v are read once, q once for each K/V tile; the first reads no state, the last writes out", "[step5]") {
  require_counts();
  check_each_buffer(exercise);
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[step5]") {
  require_counts();
  check_formula(exercise);
}

TEST_CASE("the bytes of N = 512 are those that are worked by hand", "[step5]") { check_bytes_at_512(); }

TEST_CASE("no sector crosses in vain", "[step5]") {
  require_counts();
  for (const fa::Index D : {64, 128}) check_sectors(D);
}

#ifndef FA_CUDA
TEST_CASE("what goes into k_tile and v_tile, and out of them, waits for no bank", "[step5]") { check_banks(exercise); }
#endif

TEST_CASE("Br changes neither a bit nor a byte", "[step5]") { check_any_br(exercise, 256); }

TEST_CASE("l counts 8192 equal keys: no sum is kept in half precision", "[step5]") { check_long_sum(exercise); }

TEST_CASE("memory beyond q, k, v and out is partial, m and l: it grows as N", "[step5]") { check_scratch(exercise); }

TEST_CASE("two runs give the same bits", "[step5]") { check_repeatable(exercise); }

#ifndef FA_CUDA
TEST_CASE("the order in which the threads of a block run does not matter", "[step5]") { check_orders(exercise); }
#else
TEST_CASE("an index may need more than 32 bits", "[step5][large]") { check_64_bit_indices(exercise); }

TEST_CASE("65535 heads are accepted, and more batches than that", "[step5]") { check_many_heads(exercise); }
#endif

TEST_CASE("bad arguments are named, and nothing is written", "[step5]") { check_rejections(exercise, 256); }

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step5][random]") { check_random(); }
