// The longer tests of step 6 of lesson 06.

#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

inline void check_invariant(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands = Operands::with_empty_state(inputs, shape);
  for (fa::Index tile = 0; tile * tiles.Bc < shape.Nk; ++tile) {
    CAPTURE(shape, options, tiles, tile);
    operands.absorb(options, tiles, tile, tile + 1);
    check_state(operands.state(), exact_state(inputs, shape, options, (tile + 1) * tiles.Bc), shape);
  }
}

inline void check_same_bits(const State& one, const State& other) {
  CHECK(one.out == other.out);
  CHECK(one.m == other.m);
  CHECK(one.l == other.l);
}

inline void check_one_launch_or_many() {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 17, .Nk = 23, .D = 6};
  const fa::Tiles tiles{.Br = 5, .Bc = 4};
  const fa::Options options{.causal = true};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands = Operands::with_empty_state(inputs, shape);
  for (const auto& [first, end] : {std::pair{0, 1}, {1, 1}, {1, 4}, {4, 100}}) {
    operands.absorb(options, tiles, first, end);
  }
  check_same_bits(operands.state(), run(inputs, shape, options, tiles));
}

inline void check_rows_without_keys() {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};  // queries 0 to 7 see none
  const State got = run(fa::make_inputs(shape), shape, {.causal = true}, {.Br = 6, .Bc = 5});
  const std::vector<double> zeros(8 * 3, 0.0), infinities(8, fa::negative_infinity);
  fa::check_close("out", std::span(got.out).first(8 * 3), zeros, {{"i", 8}, {"d", 3}}, {});
  fa::check_close("m", std::span(got.m).first(8), infinities, {{"i", 8}}, {});
  fa::check_close("l", std::span(got.l).first(8), std::span(zeros).first(8), {{"i", 8}}, {});
}

// A finite number that stands for −inf is a score like any other. Two of them in one tile, and one in the next.
inline void check_low_scores() {
  for (const float low : {-2e6f, -2e9f, -2e30f, std::numeric_limits<float>::lowest()}) {
    CAPTURE(low);
    const State after = after_each_tile({low, low, low}, {1, 3, 5}, 2, 6);
    check_after_each_tile("m", after.m, {low, low});
    check_after_each_tile("l", after.l, {2, 3});
    check_after_each_tile("out", after.out, {2, 3});
  }
}

inline void check_lse_of_logits(float size) {
  const fa::Shape shape{.Nq = 5, .Nk = 40, .D = 1};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(inputs.q.size(), 1.0f);
  for (float& key : inputs.k) key += size;
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, {});
  fa::check_close("m + ln l", run(inputs, shape, {}, {.Br = 2, .Bc = 7}).lse(), oracle.lse, {{"i", 5}},
                  {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
}

inline void check_formula(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  CAPTURE(shape, tiles, options);
  Operands operands(fa::make_inputs(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(options, tiles);
  check_traffic("all buffers", fa::v1_forward_traffic(shape, options, tiles), meter.total());
}

inline void check_bytes_at_512(const fa::Options& options, const fa::Traffic& expected) {
  CAPTURE(options);
  const fa::Shape shape{.Nq = 512, .Nk = 512, .D = 64};
  Operands operands(fa::make_inputs(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(options, {.Br = 32, .Bc = 32});
  check_traffic("N = 512, D = 64, Br = Bc = 32", expected, meter.total());
  check_traffic("the same in sectors", expected, {32 * meter.read_sectors(), 32 * meter.written_sectors()});
}

// What m and l take, for one head of N queries and keys. The function itself must take nothing.
inline fa::Index measured_scratch(fa::Index N) {
  const fa::Shape shape{.Nq = N, .Nk = N, .D = 3};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  fa::DeviceBuffer<float> m = scratch.allocate<float>("m", N), l = scratch.allocate<float>("l", N);
  const fa::Index before = fa::device_bytes_taken();
  lesson::attention_forward(q, k, v, out, m, l, shape, {}, {.Br = 32, .Bc = 32});
  check_bytes("HBM that attention_forward took", 0, fa::device_bytes_taken() - before);
  return scratch.peak_bytes();
}

#ifndef FA_CUDA
inline void check_orders() {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 33, .Nk = 35, .D = 7};
  const fa::Tiles tiles{.Br = 16, .Bc = 8};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const State forward = run(inputs, shape, {}, tiles);
  for (const auto order : {fa::simt::Order::backward, fa::simt::Order::shuffled}) {
    fa::simt::Settings settings = fa::simt::settings();
    settings.order = order;
    const fa::simt::With until_the_end_of_this_turn(settings);
    check_same_bits(forward, run(inputs, shape, {}, tiles));
  }
}
#else
inline void check_64_bit_indices() {
  // B · H · N · D is more than 2^31. Only the last head has numbers; what others read is poison.
  const fa::Shape shape{.B = 4097, .H = 64, .Nq = 64, .Nk = 64, .D = 128}, one{.Nq = 64, .Nk = 64, .D = 128};
  const fa::Index elements = fa::query_elements(shape), last = elements - fa::query_elements(one);
  if (fa::device().memory_bytes < 5 * 4 * elements) SKIP("needs 43 GB of HBM");
  const fa::Inputs inputs = fa::make_inputs(one);
  fa::DeviceBuffer<float> q("q", elements), k("k", elements), v("v", elements), out("out", elements);
  fa::DeviceBuffer<float> m("m", fa::query_rows(shape)), l("l", fa::query_rows(shape));
  q.from_host(inputs.q, last), k.from_host(inputs.k, last), v.from_host(inputs.v, last);
  lesson::attention_forward(q, k, v, out, m, l, shape, {}, {.Br = 32, .Bc = 32});
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, one, {});
  fa::check_close("m of the last head", m.to_host(last / 128, 64), oracle.m, {{"i", 64}},
                  fa::lse_tolerance(inputs.q, inputs.k, one, {}));
  fa::check_close("out of the last head", out.to_host(last, fa::query_elements(one)), oracle.out,
                  {{"i", 64}, {"d", 128}}, fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, one, {}));
}
#endif

}  // namespace support
