// The longer tests of lesson 11.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "simt/settings.h"
#endif

namespace support {

// ---- Step 1

inline void check_grid(const fa::Shape& shape, fa::Index x, fa::Index y, fa::Index z) {
  CAPTURE(shape);
  const fa::Extents grid = lesson::grid(shape);
  CHECK(std::vector{grid.x, grid.y, grid.z} == std::vector{x, y, z});
}

#ifndef FA_CUDA
inline void check_too_large_a_block() {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 65};
  const fa::Index asked = lesson::shared_memory_bytes(shape.D), limit = 64 * 1024;  // of a T4
  Operands operands(fa::make_inputs(shape), shape);
  const fa::simt::Settings before = fa::simt::settings();
  fa::simt::settings().shared_bytes_per_block = limit;
  CHECK_THROWS_AS(operands.forward({}), std::length_error);
  CHECK_THROWS_WITH(operands.forward({}), Catch::Matchers::ContainsSubstring(std::to_string(asked)) &&
                                              Catch::Matchers::ContainsSubstring(std::to_string(limit)));
  fa::simt::settings() = before;
  check_unwritten(operands);
}
#endif

// ---- Step 2: without keys the loop over tiles has nothing to do, and the end of the kernel can be looked at.

inline void check_without_keys(const fa::Shape& shape) {
  CAPTURE(shape);
  const Partly run(2, shape);
  const std::vector<double> expected(std::size_t(fa::query_rows(shape)), fa::negative_infinity);
  fa::check_close("lse", run.operands.lse.to_host(), expected, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}}, {});
}

// ---- Step 4

// Keys that end after each of the tiles: with t tiles, the kernel has the state after tile t.
inline void check_after_each_tile(std::string_view what, const std::vector<std::vector<float>>& score_tiles,
                                  const std::vector<float>& values, const std::vector<double>& expected) {
  std::vector<float> got;
  for (std::size_t count = 1; count <= score_tiles.size(); ++count) {
    const fa::Inputs inputs = one_row({score_tiles.begin(), score_tiles.begin() + fa::Index(count)}, values);
    const fa::Shape shape{.Nq = 1, .Nk = fa::Index(inputs.k.size()), .D = 1};
    const Partly run(what == "lse" ? 4 : 5, inputs, shape);
    got.push_back((what == "lse" ? run.operands.lse : run.operands.out).to_host()[0]);
  }
  fa::check_close(what, got, expected, {{"tile", fa::Index(expected.size())}}, by_hand);
}

inline void check_state_after_each_tile() {
  const fa::Shape shape{.Nq = 7, .Nk = 75, .D = 6};
  const fa::Inputs inputs = fa::make_inputs(shape);
  for (const fa::Index keys : {32, 64, 75}) {
    const fa::Shape part{.Nq = shape.Nq, .Nk = keys, .D = shape.D};
    check_lse_of_a_block(first_keys(inputs, shape, keys), part, {});
  }
}

inline void check_hidden_keys_do_not_reach_lse() {
  const fa::Shape shape{.Nq = 40, .Nk = 40, .D = 3};
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::size_t e = 35 * 3; e < inputs.k.size(); ++e) inputs.k[e] = fa::nan;
  const std::vector<float> lse = Partly(4, inputs, shape, {.causal = true}).operands.lse.to_host();
  CHECK(std::none_of(lse.begin(), lse.begin() + 35, [](float x) { return std::isnan(x); }));
  CHECK(std::all_of(lse.begin() + 35, lse.end(), [](float x) { return std::isnan(x); }));
}

// A finite number that stands for −inf is a score like any other. Three of them in one tile, and three in two tiles.
inline void check_low_scores(int step) {
  for (const float low : {-2e6f, -2e9f, -2e30f, std::numeric_limits<float>::lowest()}) {
    CAPTURE(low);
    const fa::Inputs one_tile{.q = {1}, .k = {low, low, low}, .v = {1, 3, 5}, .dout = {}};
    for (const fa::Inputs& inputs : {one_tile, one_row({{low, low}, {low}}, {1, 3, 5})}) {
      const Partly run(step, inputs, {.Nq = 1, .Nk = fa::Index(inputs.k.size()), .D = 1});
      const std::vector lse{double(low) + std::log(3.0)};  // in float this is `low`, but for the first
      fa::check_close("lse", run.operands.lse.to_host(), lse, {{"i", 1}}, by_hand);
      if (step == 5) fa::check_close("out", run.operands.out.to_host(), std::vector{3.0}, {{"i", 1}}, by_hand);
    }
  }
}

inline void check_lse_of_logits(float size) {
  const fa::Shape shape{.Nq = 5, .Nk = 40, .D = 1};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(inputs.q.size(), 1.0f);
  for (float& key : inputs.k) key += size;
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
  fa::check_close("lse", Partly(4, inputs, shape).operands.lse.to_host(), oracle.lse, {{"i", 5}},
                  {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
}

// ---- Step 5

inline void check_rows_without_keys() {
  const fa::Shape shape{.Nq = 130, .Nk = 60, .D = 3};  // queries 0 to 69 see none: all of one block, 6 of the next
  const Result got = run(fa::make_inputs(shape), shape, {.causal = true});
  const std::vector<double> zeros(70 * 3, 0.0), infinities(70, fa::negative_infinity);
  fa::check_close("out", std::span(got.out).first(70 * 3), zeros, {{"i", 70}, {"d", 3}}, {});
  fa::check_close("lse", std::span(got.lse).first(70), infinities, {{"i", 70}}, {});
}

// Lesson 02's merge: two runs over a part of the keys each, with lse = ln Σ e^s, make one run over all of them.
inline void check_merge(fa::Index first) {
  CAPTURE(first);
  const fa::Shape shape{.Nq = 5, .Nk = 90, .D = 7};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const auto at = [&](fa::Index keys) { return keys * shape.D; };
  const fa::Inputs others{.q = inputs.q,
                          .k = {inputs.k.begin() + at(first), inputs.k.end()},
                          .v = {inputs.v.begin() + at(first), inputs.v.end()},
                          .dout = {}};
  const Result a = run(first_keys(inputs, shape, first), {.Nq = 5, .Nk = first, .D = 7}, {});
  const Result b = run(others, {.Nq = 5, .Nk = 90 - first, .D = 7}, {});
  const Result all = run(inputs, shape, {});
  std::vector<double> lse, out;
  for (std::size_t i = 0; i < 5; ++i) {
    const double most = std::max(a.lse[i], b.lse[i]);
    const double of_a = std::exp(a.lse[i] - most), of_b = std::exp(b.lse[i] - most);
    lse.push_back(most + std::log(of_a + of_b));
    for (std::size_t e = 7 * i; e < 7 * i + 7; ++e) out.push_back((of_a * a.out[e] + of_b * b.out[e]) / (of_a + of_b));
  }
  const fa::Tolerance tolerance{.absolute = 2e-6, .relative = 2e-6, .normwise = 2e-6};
  fa::check_close("lse", all.lse, lse, {{"i", 5}}, tolerance);
  fa::check_close("out", all.out, out, {{"i", 5}, {"d", 7}}, tolerance);
}

inline void check_same_bits(const Result& one, const Result& other) {
  CHECK(one.out == other.out);
  CHECK(one.lse == other.lse);
}

inline fa::Traffic counted(const fa::Shape& shape, const fa::Options& options) {
  Operands operands(fa::make_inputs(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(options);
  return meter.total();
}

inline void check_formula(const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  if (!fits(shape)) return;
  check_traffic("all buffers", fa::v2_forward_traffic(shape, options, tiles), counted(shape, options));
}

// `met`: keys that are loaded, summed over the blocks of a head.
inline void check_buffers(const fa::Shape& shape, const fa::Options& options, fa::Index met) {
  CAPTURE(shape, options);
  Operands operands(fa::make_inputs(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(options);
  check_traffic("q", {4 * fa::query_elements(shape), 0}, meter.of("q"));
  for (const char* name : {"k", "v"}) {
    check_traffic(name, {4 * fa::heads(shape) * met * shape.D, 0}, meter.of(name));
  }
  check_traffic("out", {0, 4 * fa::query_elements(shape)}, meter.of("out"));
  check_traffic("lse", {0, 4 * fa::query_rows(shape)}, meter.of("lse"));
}

inline void check_sectors() {
  for (const fa::Index D : {8, 64}) {
    const fa::Shape shape{.Nq = 64, .Nk = 32, .D = D};
    const Partly run(5, shape);
    for (const std::string name : {"q", "out"})
      check_bytes(name + ", in whole sectors", 4 * 64 * D, run.in_sectors(name));
    for (const std::string name : {"k", "v"})
      check_bytes(name + ", in whole sectors", 4 * 32 * D, run.in_sectors(name));
  }
}

inline fa::Index memory_taken(fa::Index N) {
  const fa::Shape shape{.Nq = N, .Nk = N, .D = 3};
  Operands operands(fa::make_inputs(shape), shape);
  const fa::Index before = fa::device_bytes_taken();
  operands.forward({});
  return fa::device_bytes_taken() - before;
}

#ifndef FA_CUDA
inline void check_orders() {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 70, .Nk = 67, .D = 7};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::simt::Settings before = fa::simt::settings();
  const Result forward = run(inputs, shape, {.causal = true});
  for (const auto order : {fa::simt::Order::backward, fa::simt::Order::shuffled}) {
    fa::simt::settings().order = order;
    const Result other = run(inputs, shape, {.causal = true});
    fa::simt::settings() = before;
    check_same_bits(forward, other);
  }
}
#else
inline void check_64_bit_indices() {
  // B · H · N · D is more than 2^31. Only the last head has numbers; what others read is poison.
  const fa::Shape shape{.B = 4097, .H = 64, .Nq = 64, .Nk = 64, .D = 128}, one{.Nq = 64, .Nk = 64, .D = 128};
  const fa::Index elements = fa::query_elements(shape), last = elements - fa::query_elements(one);
  if (!fits(shape) || fa::device().memory_bytes < 5 * 4 * elements) SKIP("needs 43 GB of HBM");
  const fa::Inputs inputs = fa::make_inputs(one);
  fa::DeviceBuffer<float> q("q", elements), k("k", elements), v("v", elements), out("out", elements);
  fa::DeviceBuffer<float> lse("lse", fa::query_rows(shape));
  q.from_host(inputs.q, last), k.from_host(inputs.k, last), v.from_host(inputs.v, last);
  lesson::attention_forward(q, k, v, out, lse, shape, {});
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, one, {});
  check_lse(lse.to_host(last / 128, 64), inputs, one, {});
  fa::check_close("out of the last head", out.to_host(last, fa::query_elements(one)), oracle.out,
                  {{"i", 64}, {"d", 128}}, fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, one, {}));
}
#endif

inline void check_rejected(const fa::Shape& asked, const std::string& text, const fa::Options& options = {}) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  Operands operands(fa::make_inputs(shape), shape);
  operands.shape = asked;
  fa::check_rejects([&] { operands.forward(options); }, text);
  check_unwritten(operands);
}

// An element too few, and one too many.
inline void check_size_rejected(const std::string& operand) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  for (const int more : {-1, 1}) {
    CAPTURE(operand, more);
    Operands operands(fa::make_inputs(shape), shape, operand, more);
    fa::check_rejects([&] { operands.forward({}); }, operand + " has ");
    check_unwritten(operands);
  }
}

// Without a query nothing is launched: the emulator would take long.
inline void check_most_heads_and_batches() {
  for (const fa::Shape& shape : {fa::Shape{.H = 65535, .Nq = 0, .Nk = 0}, fa::Shape{.B = 65535, .Nq = 0, .Nk = 0}}) {
    CAPTURE(shape);
    CHECK_NOTHROW(run(fa::make_inputs(shape), shape, {}));
  }
}

}  // namespace support
