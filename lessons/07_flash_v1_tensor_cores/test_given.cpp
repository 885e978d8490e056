// attention_forward_mma, which is given, keeps the promises of lesson 07, too.

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_forward.h"
#include "test_limits.h"
#include "test_promises.h"
#include "test_support.h"

using namespace support;

TEST_CASE("shared memory holds k and v, and nothing else", "[given]") {
  // 64 rows of 72 halves each; 128 rows of 136.
  check_bytes("Bc = 64, D = 64", 2 * 9216, lesson::shared_memory_bytes_mma({.Br = 16, .Bc = 64}, 64));
  check_bytes("Bc = 128, D = 128", 2 * 34816, lesson::shared_memory_bytes_mma({.Br = 128, .Bc = 128}, 128));
}

TEST_CASE("tiles that do not fit are rejected with both sizes, and nothing is written", "[given]") {
  check_tiles_too_large(given, {.Nq = 2, .Nk = 3, .D = 128}, {.Br = 128, .Bc = 448});
}

TEST_CASE("the largest tiles that fit, run", "[given]") { check_largest_tiles(given); }

#ifndef FA_CUDA
TEST_CASE("tiles that take all the shared memory of the device run, and one byte more is too much", "[given]") {
  check_at_the_limit(given, 0);
  check_at_the_limit(given, -1);
}
#endif

TEST_CASE("a query that sees no key has out = 0, m = -inf, l = 0", "[given]") { check_rows_without_keys(given); }

TEST_CASE("out, m and l agree with the oracle, whatever the shape and the tiles, causal or not", "[given]") {
  check_ragged_shapes(given);
}

TEST_CASE("out, m and l agree with the oracle on inputs of every kind and any scale", "[given]") {
  check_kinds_and_scales(given);
}

TEST_CASE("the error is at most twice that of standard attention in the same format", "[given]") {
  check_accuracy(given);
}

TEST_CASE("log-sum-exp, m + ln l, is right to 1e-6 at logits of 1e3", "[given]") { check_lse_of_logits(given); }

TEST_CASE("a NaN or an infinity reaches what depends on it, and nothing else", "[given]") { check_nan(given); }

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[given]") { check_infinite_scores(given); }

TEST_CASE("the lowest scores are not taken for -inf", "[given]") { check_low_scores(given); }

TEST_CASE("k and v are read once, q once for each K/V tile; the first reads no state, the last writes out", "[given]") {
  require_counts();
  check_each_buffer(given);
}

TEST_CASE("formula = count, to the byte, whatever the shape and the tiles, causal or not", "[given]") {
  require_counts();
  check_formula(given);
}

#ifndef FA_CUDA
TEST_CASE("what goes into k_tile and v_tile, and out of them, waits for no bank", "[given]") { check_banks(given); }
#endif

TEST_CASE("Br changes neither a bit nor a byte", "[given]") { check_any_br(given, 128); }

TEST_CASE("l counts 8192 equal keys: no sum is kept in half precision", "[given]") { check_long_sum(given); }

TEST_CASE("memory beyond q, k, v and out is partial, m and l: it grows as N", "[given]") { check_scratch(given); }

TEST_CASE("two runs give the same bits", "[given]") { check_repeatable(given); }

#ifndef FA_CUDA
TEST_CASE("the order in which the threads of a block run does not matter", "[given]") { check_orders(given); }
#else
TEST_CASE("an index may need more than 32 bits", "[given][large]") { check_64_bit_indices(given); }

TEST_CASE("65535 heads are accepted, and more batches than that", "[given]") { check_many_heads(given); }
#endif

TEST_CASE("bad arguments are named, and nothing is written", "[given]") { check_rejections(given, 128); }
