// The longer tests of steps 5 and 6 of lesson 10.

#pragma once

#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"
#include "fa/traffic.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "simt/settings.h"
#endif

namespace support {

inline void check_same_bits(const Gradients& one, const Gradients& other) {
  CHECK(one.dq == other.dq);
  CHECK(one.dk == other.dk);
  CHECK(one.dv == other.dv);
}

inline void check_invariant(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Forward forward(inputs, shape, options);
  Operands all(inputs, forward, shape), operands(inputs, forward, shape);
  for (Operands* one : {&all, &operands}) one->set_prepared(forward);
  all.absorb(options, tiles, 0, shape.Nk);
  const Gradients at_the_end = all.gradients();
  const fa::Extent b{"b", shape.B}, h{"h", shape.H}, d{"d", shape.D};
  const fa::Tolerance tolerance{.absolute = 2e-5, .relative = 2e-5, .normwise = 1e-5};
  for (fa::Index tile = 0; tile * tiles.Bc < shape.Nk; ++tile) {
    CAPTURE(shape, options, tiles, tile);
    operands.absorb(options, tiles, tile, tile + 1);
    const Gradients now = operands.gradients();
    const std::vector<double> dq = query_gradient_over(inputs, shape, options, (tile + 1) * tiles.Bc);
    fa::check_close("dq", now.dq, dq, {b, h, {"i", shape.Nq}, d}, tolerance);
    for (std::size_t e = 0; e < now.dk.size(); ++e) {
      const bool seen = fa::Index(e) / shape.D % shape.Nk < (tile + 1) * tiles.Bc;
      const bool right = seen ? now.dk[e] == at_the_end.dk[e] && now.dv[e] == at_the_end.dv[e]
                              : fa::is_poison(now.dk[e]) && fa::is_poison(now.dv[e]);
      if (right) continue;
      FAIL_CHECK("dk or dv of key " << fa::Index(e) / shape.D % shape.Nk
                                    << (seen ? " is not final" : " was written before its tile"));
      break;
    }
  }
}

inline void check_one_launch_or_many() {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 17, .Nk = 23, .D = 6};
  const fa::Tiles tiles{.Br = 5, .Bc = 4};
  const fa::Options options{.causal = true};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, options), shape);
  operands.prepare();
  for (const auto& [first, end] : {std::pair{0, 1}, {1, 1}, {1, 4}, {4, 100}}) {
    operands.absorb(options, tiles, first, end);
  }
  check_same_bits(operands.gradients(), run(inputs, shape, options, tiles));
}

inline void check_rows_without_keys() {
  const fa::Shape shape{.Nq = 20, .Nk = 12, .D = 3};  // queries 0 to 7 see none
  fa::Inputs inputs = fa::make_inputs(shape);
  const fa::Options options{.causal = true};
  const Gradients clean = run(inputs, shape, options, {.Br = 6, .Bc = 5});
  for (std::size_t at = 0; at < 8 * 3; ++at) inputs.q[at] = inputs.dout[at] = fa::nan;
  const Gradients got = run(inputs, shape, options, {.Br = 6, .Bc = 5});
  const std::vector<double> zeros(8 * 3, 0.0);
  fa::check_close("dq", std::span(got.dq).first(8 * 3), zeros, {{"i", 8}, {"d", 3}}, {});
  fa::check_close("dk", got.dk, in_double(clean.dk), {{"j", 12}, {"d", 3}}, {});
  fa::check_close("dv", got.dv, in_double(clean.dv), {{"j", 12}, {"d", 3}}, {});
}

inline void check_single_key(fa::Index D) {
  const fa::Shape shape{.Nq = 1, .Nk = 1, .D = D};
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(inputs.q.size(), 1.0f);
  inputs.k.assign(inputs.k.size(), -0.25f);  // the score is exact, and so is the weight 1
  const Gradients got = run(inputs, shape, {.scale = 1.0f}, {.Br = 4, .Bc = 4});
  const std::vector<double> zeros(inputs.q.size());
  fa::check_close("dv", got.dv, in_double(inputs.dout), {{"d", D}}, {});
  fa::check_close("dq", got.dq, zeros, {{"d", D}}, {.absolute = 1e-5});
  fa::check_close("dk", got.dk, zeros, {{"d", D}}, {.absolute = 1e-5});
}

// Logits near −5e4 that float holds exactly. A row of zeros behind the last key would have the score 0, and e^(0 + 5e4)
// is inf.
inline fa::Inputs inputs_with_low_logits(const fa::Shape& shape) {
  fa::Inputs inputs = fa::make_inputs(shape);
  inputs.q.assign(inputs.q.size(), 1.0f);
  for (float& key : inputs.k) key = std::round(4 * key) / 4 - 5e4f;
  return inputs;
}

inline fa::Inputs three_times_normal(const fa::Shape& shape) {
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::vector<float>* operand : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout}) {
    for (float& value : *operand) value *= 3.0f;
  }
  return inputs;
}

// One NaN: in a query, a key or a value, as in fa::inputs_with_nan; or in the dout of query 1; or in a value or a dout
// where all weights but one are 0 in float. They must not hide it, since 0 · NaN is NaN.
inline std::vector<fa::Inputs> nan_in_each_operand(const fa::Shape& shape) {
  std::vector<fa::Inputs> result = fa::inputs_with_nan(shape);
  result.push_back(fa::make_inputs(shape));
  result.back().dout.at(static_cast<std::size_t>(2 * shape.D - 1)) = fa::nan;
  for (const auto operand : {&fa::Inputs::v, &fa::Inputs::dout}) {
    result.push_back(fa::make_inputs(shape, fa::InputKind::one_hot));
    (result.back().*operand).at(static_cast<std::size_t>(6 * shape.D - 1)) = fa::nan;
  }
  return result;
}

// Runs the whole and checks the bytes of each buffer. `met` is worked by hand: how many rows of Q tiles meet a K/V
// tile, summed over the pairs of tiles of one head.
inline void check_buffers(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index met) {
  CAPTURE(shape, options, tiles);
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, options), shape);
  fa::DeviceMeter meter;
  operands.backward(options, tiles);
  const fa::Index statistic = 4 * fa::heads(shape), row = statistic * shape.D;  // bytes of a row, all heads
  for (const char* name : {"k", "v"}) check_traffic(name, {shape.Nk * row, 0}, meter.of(name));
  for (const char* name : {"dk", "dv"}) check_traffic(name, {0, shape.Nk * row}, meter.of(name));
  for (const char* name : {"m", "l"}) check_traffic(name, {met * statistic, 0}, meter.of(name));
  check_traffic("q", {met * row, 0}, meter.of("q"));
  check_traffic("out", {shape.Nq * row, 0}, meter.of("out"));
  check_traffic("dout", {(shape.Nq + met) * row, 0}, meter.of("dout"));
  check_traffic("delta", {met * statistic, shape.Nq * statistic}, meter.of("delta"));
  check_traffic("dq", {met * row, (shape.Nq + met) * row}, meter.of("dq"));
}

inline void check_memory_grows() {
  std::vector<double> n, bytes;
  for (const fa::Index N : {64, 128, 256, 512}) {
    const fa::Shape shape{.Nq = N, .Nk = N, .D = 1};
    const fa::Inputs inputs = fa::make_inputs(shape);
    Operands operands(inputs, Forward(inputs, shape, {}), shape);
    const fa::Index before = fa::device_bytes_taken();
    operands.backward({}, {.Br = 64, .Bc = 64});
    check_bytes("delta", 4 * N, operands.scratch.peak_bytes());
    check_bytes("all HBM that attention_backward took", 4 * N, fa::device_bytes_taken() - before);
    n.push_back(double(N));
    bytes.push_back(double(fa::v1_forward_scratch(shape) + operands.scratch.peak_bytes()));
  }
  CHECK(bytes == std::vector<double>{12 * 64, 12 * 128, 12 * 256, 12 * 512});
  CHECK(std::abs(fa::log_log_slope(n, bytes) - 1.0) <= 0.05);
}

// Every access of the second kernel uses the sectors of 32 bytes whole.
inline void check_sectors() {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 64, .Nk = 48, .D = 32};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Forward forward(inputs, shape, {});
  Operands operands(inputs, forward, shape);
  operands.set_prepared(forward);
  fa::DeviceMeter meter;
  operands.absorb({}, {.Br = 32, .Bc = 16}, 0, 3);
  for (const fa::BufferTraffic& row : meter.by_buffer()) {
    check_traffic(row.buffer + ", in whole sectors", row.traffic, {32 * row.read_sectors, 32 * row.written_sectors});
  }
}

inline void check_formula(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  CAPTURE(shape, tiles, options);
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, options), shape);
  fa::DeviceMeter meter;
  operands.backward(options, tiles);
  check_traffic("backward_traffic", meter.total(), lesson::backward_traffic(shape, options, tiles));
}

#ifndef FA_CUDA
inline void check_orders() {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 33, .Nk = 35, .D = 7};
  const fa::Tiles tiles{.Br = 16, .Bc = 8};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::simt::Settings before = fa::simt::settings();
  const Gradients forward = run(inputs, shape, {}, tiles);
  for (const auto order : {fa::simt::Order::backward, fa::simt::Order::shuffled}) {
    fa::simt::settings().order = order;
    const Gradients other = run(inputs, shape, {}, tiles);
    fa::simt::settings() = before;
    check_same_bits(forward, other);
  }
}
#else
inline void check_64_bit_indices() {
  // B · H · N · D is more than 2^31. Only the last head has numbers; what others read is poison.
  const fa::Shape shape{.B = 4097, .H = 64, .Nq = 64, .Nk = 64, .D = 128}, one{.Nq = 64, .Nk = 64, .D = 128};
  const fa::Index elements = fa::query_elements(shape), rows = fa::query_rows(shape);
  const fa::Index last = elements - fa::query_elements(one), last_row = rows - fa::query_rows(one);
  if (fa::device().memory_bytes < 9 * 4 * elements) SKIP("needs 77 GB of HBM");
  const fa::Inputs inputs = fa::make_inputs(one);
  const Expected expected(inputs, one, {});
  const Forward& forward = expected.forward();
  fa::DeviceBuffer<float> q("q", elements), k("k", elements), v("v", elements), out("out", elements);
  fa::DeviceBuffer<float> m("m", rows), l("l", rows), dout("dout", elements);
  fa::DeviceBuffer<float> dq("dq", elements), dk("dk", elements), dv("dv", elements);
  q.from_host(inputs.q, last), k.from_host(inputs.k, last), v.from_host(inputs.v, last);
  dout.from_host(inputs.dout, last), out.from_host(forward.out, last);
  m.from_host(forward.m, last_row), l.from_host(forward.l, last_row);
  fa::DeviceScratch scratch;
  lesson::attention_backward(q, k, v, out, m, l, dout, dq, dk, dv, shape, {}, {.Br = 16, .Bc = 32}, scratch);
  const fa::Index count = fa::query_elements(one);
  expected.check({dq.to_host(last, count), dk.to_host(last, count), dv.to_host(last, count)});
}
#endif

// `one_less` names an operand that lacks an element; every function that takes it must say so.
inline void check_rejected(const std::string& one_less, const fa::Shape& asked, const std::string& text,
                           const fa::Tiles& tiles = {.Br = 2, .Bc = 2}, const fa::Options& options = {}) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, {}), shape, one_less);
  operands.shape = asked;
  if (one_less != "delta") fa::check_rejects([&] { operands.backward(options, tiles); }, text);
  if (one_less != "out") fa::check_rejects([&] { operands.absorb(options, tiles, 0, 1); }, text);
  if (one_less == "out" || one_less == "dout" || one_less == "delta" || one_less == "dq") {
    fa::check_rejects([&] { operands.prepare(); }, text);
  }
  check_unwritten(operands);
}

inline void check_bad_arguments() {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  run(inputs, shape, {}, {.Br = 2, .Bc = 2});  // what is right is not rejected
  check_rejected("", shape, "Br = 0", {.Br = 0, .Bc = 2});
  check_rejected("", shape, "Bc = -1", {.Br = 2, .Bc = -1});
  check_rejected("", shape, "scale = inf", {.Br = 2, .Bc = 2}, {.scale = fa::infinity});
  check_rejected("", {.Nq = 2, .Nk = -3, .D = 2}, "Nk = -3");
  check_rejected("", {.H = 65536, .Nq = 2, .Nk = 3, .D = 2}, "H = 65536");
  for (const std::string name : {"q", "k", "v", "out", "m", "l", "dout", "delta", "dq", "dk", "dv"}) {
    check_rejected(name, shape, name + " has ");
  }
  Operands operands(inputs, Forward(inputs, shape, {}), shape);
  fa::check_rejects([&] { operands.absorb({}, {.Br = 2, .Bc = 2}, -1, 1); }, "first_tile = -1");
  check_unwritten(operands);
}

}  // namespace support
