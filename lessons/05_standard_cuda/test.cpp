// The properties of lesson 05, in the order in which a teacher would look, on the emulator and on a GPU. What counts
// bytes, or asks the emulator, is tested on the emulator alone.

#include <cstddef>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_attention.h"
#include "test_first_kernel.h"
#include "test_random.h"
#include "test_scores.h"
#include "test_support.h"

using namespace support;

// ---- Step 1

TEST_CASE("each thread computes its own score: s = 10000 head + 100 i + j", "[step1]") {
  check_own_scores(lesson::scores_untiled);
}

TEST_CASE("scores are the dot products worked by hand, and -inf where the mask hides", "[step1]") {
  check_example_scores(lesson::scores_untiled);
}

TEST_CASE("scores are right for ragged shapes, causal or not", "[step1]") {
  check_ragged_scores(lesson::scores_untiled);
}

TEST_CASE("a hidden score is -inf, whatever the scale", "[step1]") { check_hidden_scores(lesson::scores_untiled); }

#ifndef FA_CUDA
TEST_CASE("untiled: each score reads a row of q and a row of k", "[step1]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 40, .D = 7};
  const fa::DeviceMeter meter;
  run_scores(lesson::scores_untiled, fa::make_inputs(shape), shape, {.causal = true});
  check_traffic("q", {4 * 6 * 33 * 40 * 7, 0}, meter.of("q"));
  check_traffic("k", {4 * 6 * 33 * 40 * 7, 0}, meter.of("k"));
  check_traffic("s", {0, 4 * 6 * 33 * 40}, meter.of("s"));
}

TEST_CASE("untiled: for each d a warp reads 33 sectors, and it writes its 32 scores to 4", "[step1]") {
  const fa::Shape shape{.Nq = 32, .Nk = 64, .D = 64};
  const fa::DeviceMeter meter;
  run_scores(lesson::scores_untiled, fa::make_inputs(shape), shape, {});
  const fa::Index warps = 32 * 64 / 32;
  check_sectors(meter, warps * 64 * 33, warps * 4);
}
#else
TEST_CASE("an index of S may need more than 32 bits", "[step1][large]") { check_64_bit_scores(lesson::scores_untiled); }
#endif

// ---- Step 2

TEST_CASE("tiled: each thread computes its own score: s = 10000 head + 100 i + j", "[step2]") {
  check_own_scores(lesson::scores);
}

TEST_CASE("tiled: scores are the dot products worked by hand, and -inf where the mask hides", "[step2]") {
  check_example_scores(lesson::scores);
}

TEST_CASE("tiled: scores are right for ragged shapes, causal or not", "[step2]") {
  check_ragged_scores(lesson::scores);
}

TEST_CASE("tiled: a hidden score is -inf, whatever the scale", "[step2]") { check_hidden_scores(lesson::scores); }

#ifndef FA_CUDA
TEST_CASE("tiled: q is read once for each tile of keys, k once for each tile of queries", "[step2]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 70, .D = 40};
  const fa::DeviceMeter meter;
  run_scores(lesson::scores, fa::make_inputs(shape), shape, {.causal = true});
  check_traffic("q", {4 * 6 * 33 * 40 * 3, 0}, meter.of("q"));  // 70 keys are 3 tiles
  check_traffic("k", {4 * 6 * 70 * 40 * 2, 0}, meter.of("k"));  // 33 queries are 2 tiles
  check_traffic("s", {0, 4 * 6 * 33 * 70}, meter.of("s"));
}

TEST_CASE("tiled: a 32nd of the bytes, and no sector that is not used to its last byte", "[step2]") {
  const fa::Shape shape{.Nq = 128, .Nk = 128, .D = 64};
  const fa::DeviceMeter meter;
  run_scores(lesson::scores_untiled, fa::make_inputs(shape), shape, {});
  check_bytes("untiled, read", 8388608, meter.total().read_bytes);
  check_sectors(meter, 1081344, 2048);
  run_scores(lesson::scores, fa::make_inputs(shape), shape, {});
  check_bytes("tiled, read", 262144, meter.launches().back().traffic.read_bytes);
  check_sectors(meter, 262144 / 32, 65536 / 32);
}

TEST_CASE("a missing barrier is found, even where the numbers happen to be right", "[step2]") {
  check_scores(lesson::scores, {.Nq = 5, .Nk = 7, .D = 65}, {});  // three tiles of columns, and no barrier is missing
  check_missing_barrier();
}
#else
TEST_CASE("tiled: an index of S may need more than 32 bits", "[step2][large]") { check_64_bit_scores(lesson::scores); }
#endif

// ---- Step 3

TEST_CASE("weights are e^(s - m) / l, as worked by hand; a shift of the row changes nothing", "[step3]") {
  for (const float shift : {0.0f, -5e4f, -1e3f, -90.0f, 90.0f, 1e3f, 5e4f}) {
    CAPTURE(shift);
    check_softmax({2 + shift, 1 + shift, 0 + shift}, {0.665241, 0.244728, 0.090031}, 1,
                  {.absolute = 1e-6, .relative = 0, .normwise = 2e-6});
  }
}

TEST_CASE("each warp computes its own row", "[step3]") { check_own_rows(); }

TEST_CASE("rows of any length: weights agree with sums in double precision", "[step3]") {
  for (const fa::Index columns : {1, 2, 17, 31, 32, 33, 63, 64, 65, 100, 515}) {
    const std::vector<float> s = fa::normal_values(3 * columns, 2);
    check_softmax(s, exact_softmax(s, 3), 3);
  }
}

TEST_CASE("equal scores weigh the same; one far above the others takes all, on whatever lane it is", "[step3]") {
  check_softmax(std::vector<float>(40, -7.0f), std::vector<double>(40, 1.0 / 40), 1);
  for (const std::size_t chosen : {0u, 1u, 15u, 16u, 31u, 32u, 47u, 63u, 64u, 69u}) {
    std::vector<float> s(70, -1e4f);
    std::vector<double> expected(70, 0.0);
    s[chosen] = 1e4f;
    expected[chosen] = 1.0;
    check_softmax(s, expected, 1, kExact);
  }
}

TEST_CASE("a score of -inf weighs nothing, also in a row that has no other", "[step3]") {
  check_softmax({0, -fa::infinity, 0, -fa::infinity, -fa::infinity, -fa::infinity}, {0.5, 0, 0.5, 0, 0, 0}, 2);
}

TEST_CASE("the lowest scores are not taken for -inf", "[step3]") { check_low_scores(); }

TEST_CASE("a NaN or a score of +inf makes its row NaN, and no other", "[step3]") {
  for (const float value : {fa::nan, fa::infinity}) check_row_of_nan(value);
}

#ifndef FA_CUDA
TEST_CASE("softmax reads each score twice, writes each weight once, and wastes no sector", "[step3]") {
  for (const fa::Index columns : {45, 64}) {
    const fa::DeviceMeter meter;
    run_softmax(fa::normal_values(10 * columns, 1), 10, columns);
    check_traffic("s", {2 * 4 * 10 * columns, 0}, meter.of("s"));
    check_traffic("p", {0, 4 * 10 * columns}, meter.of("p"));
    if (columns == 64) check_sectors(meter, 2 * 10 * 64 / 8, 10 * 64 / 8);
  }
}
#endif

// ---- Step 4

TEST_CASE("each thread computes its own element: out = 10000 head + 100 j + d", "[step4]") { check_own_elements(); }

TEST_CASE("out is the sum of the values times their weights, as worked by hand", "[step4]") {
  check_product({1, 0, 0, 0.5f, 0.5f, 0, 0.665241f, 0.244728f, 0.090031f}, kExampleInputs.v,
                {1, 10, 2, 15, 1.849579, 14.247896}, kExample, {}, {.absolute = 2e-5, .relative = 0, .normwise = 1e-6});
}

TEST_CASE("the product is right for ragged shapes", "[step4]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    const std::vector<float> p = fa::normal_values(fa::score_elements(shape), 1);
    const std::vector<float> v = fa::normal_values(fa::key_elements(shape), 2);
    check_product(p, v, exact_product(p, v, shape), shape, {}, {.absolute = 1e-4, .relative = 0, .normwise = 1e-6});
  }
}

TEST_CASE("a hidden row of V is not used, even if it holds a NaN", "[step4]") { check_hidden_values(); }

#ifndef FA_CUDA
TEST_CASE("p is read once for each tile of columns, v once for each tile of queries", "[step4]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 70, .Nk = 33, .D = 40};
  const std::vector<float> p = fa::normal_values(fa::score_elements(shape), 1);
  const fa::DeviceMeter meter;
  run_product(p, fa::normal_values(fa::key_elements(shape), 2), shape, {.causal = true});
  check_traffic("p", {4 * 6 * 70 * 33 * 2, 0}, meter.of("p"));  // 40 columns are 2 tiles
  check_traffic("v", {4 * 6 * 33 * 40 * 3, 0}, meter.of("v"));  // 70 queries are 3 tiles
  check_traffic("out", {0, 4 * 6 * 70 * 40}, meter.of("out"));
}

TEST_CASE("the product wastes no sector", "[step4]") {
  const fa::DeviceMeter meter;
  run_product(fa::normal_values(32 * 64, 1), fa::normal_values(64 * 96, 2), {.Nq = 32, .Nk = 64, .D = 96}, {});
  check_sectors(meter, (3 * 32 * 64 + 64 * 96) / 8, 32 * 96 / 8);
}
#endif

// ---- Step 5

TEST_CASE("attention with a single key returns its value", "[step5]") {
  for (const fa::Index D : {1, 16}) {
    const fa::Inputs inputs = fa::make_inputs({.D = D});
    const std::vector<double> v(inputs.v.begin(), inputs.v.end());
    fa::check_close("out", run_attention(inputs, {.D = D}, {}), v, {{"d", D}}, kExact);
  }
}

TEST_CASE("a query that sees no key gives zeros", "[step5]") {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 50, .Nk = 12, .D = 3};  // queries 0 to 37
  std::vector<float> out = run_attention(fa::make_inputs(shape), shape, {.causal = true});
  out.resize(38 * 3);
  fa::check_close("out", out, std::vector<double>(38 * 3, 0.0), {{"i", 38}, {"d", 3}}, kExact);
}

TEST_CASE("out agrees with the oracle on ragged shapes, causal or not", "[step5]") {
  for (const fa::Shape& shape : fa::ragged_shapes) check_both_masks(fa::make_inputs(shape), shape);
}

TEST_CASE("out agrees with the oracle on inputs of every kind and any scale", "[step5]") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_both_masks(fa::make_inputs(shape, kind), shape);
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) check_both_masks(fa::make_inputs(shape), shape, scale);
}

TEST_CASE("logits far below zero: a hidden key stays hidden", "[step5]") {
  const fa::Inputs inputs{.q = {1, 2, 1}, .k = {-5e4f, -5e4f - 1, -5e4f - 2}, .v = {1, 3, 5}, .dout = {}};
  check_both_masks(inputs, {.Nq = 3, .Nk = 3, .D = 1});
}

TEST_CASE("a NaN reaches what depends on it, and nothing else", "[step5]") {
  for (const fa::Shape& shape : {fa::Shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4}, {.Nq = 35, .Nk = 37, .D = 33}}) {
    for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) check_both_masks(inputs, shape);
  }
}

TEST_CASE("a score of -inf weighs nothing, one of +inf makes its row NaN", "[step5]") {
  for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
    CAPTURE(inputs.q, inputs.k);
    check_both_masks(inputs, fa::infinite_scores_shape);
  }
}

TEST_CASE("bad arguments are named, and nothing is written", "[step5]") { check_rejections(); }

TEST_CASE("a launch that fails says so itself, and the next one works", "[step5]") {
  check_too_many_heads({.B = 2, .H = 32768, .Nq = 1, .Nk = 1, .D = 1}, "scores_kernel");
  check_too_many_heads({.B = 2, .H = 32768, .Nq = 1, .Nk = 0, .D = 1}, "product_kernel");
}

TEST_CASE("working memory is S and P, so it grows as N squared, and it is given back", "[step5]") {
  check_memory_grows_as_n_squared();
}

#ifndef FA_CUDA
TEST_CASE("three launches, each with the bytes of its kernel", "[step5]") {
  check_three_launches({.B = 2, .H = 1, .Nq = 33, .Nk = 40, .D = 35}, {.causal = true});
}

TEST_CASE("the threads of a block may run in any order", "[step5]") {
  check_every_thread_order({.B = 1, .H = 2, .Nq = 33, .Nk = 65, .D = 40});
  check_every_thread_order({.Nq = 7, .Nk = 7, .D = 5});
}
#else
TEST_CASE("an index of S or P may need more than 32 bits", "[step5][large]") { check_64_bit_indices(); }
#endif

// ---- Step 6

TEST_CASE("the formula gives the bytes worked by hand", "[step6]") {
  const fa::Traffic traffic = lesson::forward_traffic({.Nq = 256, .Nk = 256, .D = 64});
  check_bytes("N = 256, D = 64, read", 1048576 + 524288 + 1048576, traffic.read_bytes);
  check_bytes("N = 256, D = 64, written", 262144 + 262144 + 65536, traffic.written_bytes);
}

#ifndef FA_CUDA
TEST_CASE("formula = count, to the byte, whatever the shape, causal or not", "[step6]") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) {
      if (causal && shape.Nq > shape.Nk) continue;  // a query that sees no key may cost less
      CAPTURE(shape, causal);
      const fa::DeviceMeter meter;
      run_attention(fa::make_inputs(shape), shape, {.causal = causal});
      check_traffic("forward_traffic", meter.total(), lesson::forward_traffic(shape));
    }
  }
}
#endif

TEST_CASE("the formula at the sizes of real models, and beside those of lesson 04", "[step6]") {
  const fa::Shape gpt2{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
  const fa::Shape llama{.B = 1, .H = 32, .Nq = 32768, .Nk = 32768, .D = 128};
  for (const fa::Shape& shape : {gpt2, llama, {.B = 3, .H = 5, .Nq = 1000, .Nk = 777, .D = 46}}) {
    CAPTURE(shape);
    check_traffic("forward_traffic", scores_traffic(shape) + softmax_traffic(shape) + product_traffic(shape),
                  lesson::forward_traffic(shape));
  }
  const fa::Shape long_rows{.Nq = 4096, .Nk = 4096, .D = 64};
  check_bytes("N = 4096, D = 64", 806354944, lesson::forward_traffic(long_rows).total());
  check_bytes("the same, each operand once", 272629760, fa::standard_forward_traffic(long_rows).total());
  check_bytes("the same, V1 with tiles of 32 x 32", 414220288,
              fa::v1_forward_traffic(long_rows, {}, {.Br = 32, .Bc = 32}).total());
  fa::check_rejects([] { lesson::forward_traffic({.Nk = -3}); }, "Nk = -3");
}

TEST_CASE("random cases are right, and wrong arguments are rejected", "[step6][random]") { check_random(); }
