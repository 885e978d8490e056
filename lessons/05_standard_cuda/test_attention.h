// Checks of the whole attention, for steps 5 and 6 of lesson 05.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_scores.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

inline std::vector<float> run_attention(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  lesson::attention_forward(q, k, v, out, shape, options, scratch);
  return out.to_host();
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  fa::check_close("out", run_attention(inputs, shape, options), oracle.out,
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
}

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) check_against_oracle(inputs, shape, {.causal = causal, .scale = scale});
}

// A function of the contract with operands for Nq = 2, Nk = 3, D = 2, but for the one called `small`, which lacks an
// element. When it throws, nothing may have been written, and no memory been taken.
inline void call_with_small(std::string_view function, std::string_view small, const fa::Shape& shape,
                            const fa::Options& options = {}) {
  const auto count = [&](std::string_view name, fa::Index elements) { return elements - (small == name); };
  const auto values = [&](const char* name, fa::Index elements) {
    return fa::DeviceBuffer<float>(name, std::vector<float>(std::size_t(count(name, elements)), 1.0f));
  };
  const fa::DeviceBuffer<float> q = values("q", 4), k = values("k", 6), v = values("v", 6);
  const fa::DeviceBuffer<float> s_in = values("s", 6), p_in = values("p", 6);
  fa::DeviceBuffer<float> s("s", count("s", 6)), p("p", count("p", 6)), out("out", count("out", 4));
  fa::DeviceScratch scratch;
  try {
    if (function == "scores_untiled") lesson::scores_untiled(q, k, s, shape, options);
    if (function == "scores") lesson::scores(q, k, s, shape, options);
    if (function == "softmax") lesson::softmax(s_in, p, shape);
    if (function == "product") lesson::product(p_in, v, out, shape, options);
    if (function == "attention_forward") lesson::attention_forward(q, k, v, out, shape, options, scratch);
  } catch (...) {
    for (const fa::DeviceBuffer<float>* buffer : {&s, &p, &out}) {
      for (const float value : buffer->to_host()) CHECK(fa::is_poison(value));
    }
    CHECK(scratch.total_bytes() == 0);
    throw;
  }
}

// What is right is not rejected; what is wrong is named.
inline void check_rejections_of(const std::string& function, const std::vector<std::string>& operands) {
  const fa::Shape good{.Nq = 2, .Nk = 3, .D = 2};
  CAPTURE(function);
  call_with_small(function, "", good);
  for (const std::string& operand : operands) {
    fa::check_rejects([&] { call_with_small(function, operand, good); }, operand + " has ");
  }
  fa::check_rejects([&] { call_with_small(function, "", {.Nq = -1, .Nk = 3, .D = 2}); }, "Nq = -1");
  fa::check_rejects([&] { call_with_small(function, "", {.Nq = 2, .Nk = 3, .D = 0}); }, "D = 0");
  if (function == "softmax") return;  // takes no options
  fa::check_rejects([&] { call_with_small(function, "", good, {.scale = fa::infinity}); }, "scale = inf");
}

inline void check_rejections() {
  check_rejections_of("attention_forward", {"q", "k", "v", "out"});
  check_rejections_of("scores_untiled", {"q", "k", "s"});
  check_rejections_of("scores", {"q", "k", "s"});
  check_rejections_of("softmax", {"s", "p"});
  check_rejections_of("product", {"p", "v", "out"});
}

// More heads than a grid has room for: the launch of `kernel` says so, and nothing is written. Before and after, all is
// well.
inline void check_too_many_heads(const fa::Shape& shape, const std::string& kernel) {
  using namespace Catch::Matchers;
  const fa::Shape good{.B = 1, .H = 2, .Nq = 5, .Nk = 7, .D = 3};
  check_both_masks(fa::make_inputs(good), good);
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  CHECK_THROWS_MATCHES(
      lesson::attention_forward(q, k, v, out, shape, {}, scratch), fa::LaunchError,
      MessageMatches(StartsWith(kernel + ", launched at ") && ContainsSubstring("grid.z = 65536: must be at most")));
  CHECK(scratch.bytes_in_use() == 0);
  const std::vector<float> untouched = out.to_host();
  CHECK(std::all_of(untouched.begin(), untouched.end(), [](float value) { return fa::is_poison(value); }));
  check_both_masks(fa::make_inputs(good), good);
}

// ---- Memory and bytes

// The most working memory that a call has at once; all of it is given back.
inline fa::Index peak_scratch(const fa::Shape& shape) {
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  const fa::Index before = fa::device_bytes_taken();
  lesson::attention_forward(q, k, v, out, shape, {}, scratch);
  CHECK(fa::device_bytes_taken() - before == scratch.total_bytes());  // nothing beside it
  CHECK(scratch.bytes_in_use() == 0);
  return scratch.peak_bytes();
}

inline void check_memory_grows_as_n_squared() {
  std::vector<double> n, bytes;
  for (const fa::Index N : {32, 64, 128, 256}) {
    const fa::Index peak = peak_scratch({.B = 1, .H = 2, .Nq = N, .Nk = N, .D = 4});
    check_bytes("peak of the working memory", 2 * 4 * 2 * N * N, peak);  // S and P, of two heads
    n.push_back(double(N));
    bytes.push_back(double(peak));
  }
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 2.0) <= 0.05);
}

inline fa::Index tiles(fa::Index extent) { return (extent + 31) / 32; }

// What each kernel moves, as the text derives it.
inline fa::Traffic scores_traffic(const fa::Shape& shape) {
  const auto& [B, H, Nq, Nk, D] = shape;
  return {4 * B * H * (Nq * D * tiles(Nk) + Nk * D * tiles(Nq)), 4 * B * H * Nq * Nk};
}
inline fa::Traffic softmax_traffic(const fa::Shape& shape) {
  return {4 * 2 * fa::score_elements(shape), 4 * fa::score_elements(shape)};
}
inline fa::Traffic product_traffic(const fa::Shape& shape) {
  const auto& [B, H, Nq, Nk, D] = shape;
  return {4 * B * H * (Nq * Nk * tiles(D) + Nk * D * tiles(Nq)), 4 * fa::query_elements(shape)};
}

#ifndef FA_CUDA  // a GPU counts no bytes, and runs threads in the order that it likes

inline void check_three_launches(const fa::Shape& shape, const fa::Options& options) {
  const fa::DeviceMeter meter;
  run_attention(fa::make_inputs(shape), shape, options);
  REQUIRE(meter.launches().size() == 3);
  const auto check = [&](std::size_t at, const std::string& kernel, const fa::Traffic& expected) {
    CHECK(meter.launches()[at].kernel == kernel);
    check_traffic(kernel, expected, meter.launches()[at].traffic);
  };
  check(0, "scores_kernel", scores_traffic(shape));
  check(1, "softmax_kernel", softmax_traffic(shape));
  check(2, "product_kernel", product_traffic(shape));
}

inline void check_every_thread_order(const fa::Shape& shape) {
  for (const fa::simt::Order order : {fa::simt::Order::forward, fa::simt::Order::backward, fa::simt::Order::shuffled}) {
    fa::simt::Settings settings = fa::simt::settings();
    settings.order = order;
    const fa::simt::With until_the_end_of_this_turn(settings);
    CAPTURE(int(order));
    check_both_masks(fa::make_inputs(shape), shape);
  }
}

#else

// The indices of S and P of test_scores.h, in all three kernels. Causal, so that the last queries stay the last.
inline void check_64_bit_indices() {
  if (fa::device().memory_bytes < 10 * fa::score_elements(kLargeScores)) SKIP("needs 43 GB of HBM");
  const fa::Inputs inputs = fa::make_inputs(kLastQueries);
  fa::DeviceBuffer<float> q("q", fa::query_elements(kLargeScores)), k("k", fa::key_elements(kLargeScores));
  fa::DeviceBuffer<float> v("v", fa::key_elements(kLargeScores)), out("out", fa::query_elements(kLargeScores));
  const fa::Index last = q.size() - fa::query_elements(kLastQueries);
  q.from_host(inputs.q, last);
  k.from_host(inputs.k, k.size() - fa::key_elements(kLastQueries));
  v.from_host(inputs.v, v.size() - fa::key_elements(kLastQueries));
  fa::DeviceScratch scratch;
  lesson::attention_forward(q, k, v, out, kLargeScores, {.causal = true}, scratch);
  const fa::ForwardOracle oracle =
      fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, kLastQueries, {.causal = true});
  fa::check_close("out of the last queries", out.to_host(last, fa::query_elements(kLastQueries)), oracle.out,
                  {{"i", kLastQueries.Nq}, {"d", kLastQueries.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, kLastQueries, {.causal = true}));
}

#endif

}  // namespace support
