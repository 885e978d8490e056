// How test.cpp runs lesson 03's functions and compares what they give.

#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/heap.h"
#include "fa/testing.h"
#include "fa/traffic.h"

namespace support {

// Lesson 01's example: one head, three queries and keys, D = 2, scale = 1. Query 2 has the scores 2, 1, 0.
inline const fa::Shape kExample{.Nq = 3, .Nk = 3, .D = 2};
inline const fa::Inputs kExampleInputs{.q = {1, 0, 0, 1, 1, 1},     // (3, 2)
                                       .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                       .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                       .dout = {}};

inline const fa::Tolerance kTight{.absolute = 1e-6, .relative = 2e-6, .normwise = 2e-6};

// One run: the outputs and everything that was metered.
struct Run {
  std::vector<float> out;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;  // what grows with N beyond q, k, v and out: lse
  fa::Scratch::Array<float> lse;
  fa::Index unmetered_bytes = 0;  // of the heap, taken beside `sram`

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : out(fa::poisoned(fa::query_elements(shape))), lse(scratch.allocate<float>("lse", fa::query_rows(shape))) {
    const auto q = meter.buffer("q", inputs.q), k = meter.buffer("k", inputs.k), v = meter.buffer("v", inputs.v);
    const auto out_in_hbm = meter.buffer("out", out), lse_in_hbm = meter.buffer("lse", lse.span());
    const fa::HeapMeter heap;
    lesson::attention_forward(q, k, v, out_in_hbm, lse_in_hbm, shape, options, tiles, sram);
    unmetered_bytes = heap.bytes() - sram.heap_bytes();
  }
};

// What the text and lesson 01 find by hand.
inline void check_example(bool causal, const fa::Tiles& tiles) {
  CAPTURE(tiles);
  const std::vector<double> out{1.396431, 11.982153, 3.533913, 22.669564, 1.849579, 14.247896};
  const std::vector<double> causal_out{1, 10, 2.462117, 17.310586, 1.849579, 14.247896};
  const std::vector<double> lse{2.169846, 1.861995, 2.407606}, causal_lse{2, 1.313262, 2.407606};
  const Run run(kExampleInputs, kExample, {.causal = causal, .scale = 1.0f}, tiles);
  fa::check_close("out", run.out, causal ? causal_out : out, {{"i", 3}, {"d", 2}}, kTight);
  fa::check_close("lse", run.lse.span(), causal ? causal_lse : lse, {{"i", 3}}, kTight);
}

// A call with operands for Nq = 2, Nk = 3, D = 2, but for the one called `small`, which lacks an element; and with
// `capacity` bytes of SRAM. When it throws, nothing may have been read or written.
inline void call_with_small(std::string_view small, const fa::Shape& shape, const fa::Tiles& tiles,
                            fa::Index capacity) {
  const auto values = [&](const char* name, fa::Index count) { return fa::poisoned(count - (small == name)); };
  std::vector<float> q = values("q", 4), k = values("k", 6), v = values("v", 6);
  std::vector<float> out = values("out", 4), lse = values("lse", 2);
  fa::TrafficMeter meter;
  fa::Scratch sram("SRAM", capacity);
  try {
    lesson::attention_forward(meter.buffer("q", q), meter.buffer("k", k), meter.buffer("v", v),
                              meter.buffer("out", out), meter.buffer("lse", lse), shape, {}, tiles, sram);
  } catch (...) {
    CHECK(meter.total() == fa::Traffic{});
    throw;
  }
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                                 const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Run run(inputs, shape, options, tiles);
  fa::check_close("out", run.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  fa::check_close("lse", run.lse.span(), oracle.lse, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}},
                  fa::lse_tolerance(inputs.q, inputs.k, shape, options));
}

inline void check_tiles_and_shapes(bool causal) {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : fa::ragged_tiles)
      check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal}, tiles);
  }
}

inline void check_kinds_and_scales(bool causal) {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19};
  for (const fa::InputKind kind : fa::all_input_kinds) {
    INFO("inputs: " << fa::name_of(kind));
    check_against_oracle(fa::make_inputs(shape, kind), shape, {.causal = causal}, {.Br = 8, .Bc = 16});
  }
  for (const float scale : {0.0f, -0.7f, 100.0f}) {
    check_against_oracle(fa::make_inputs(shape), shape, {.causal = causal, .scale = scale}, {.Br = 16, .Bc = 8});
  }
}

inline void check_not_a_number(bool causal) {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 9, .Nk = 9, .D = 4};
  for (const fa::Tiles& tiles : fa::ragged_tiles) {
    for (const fa::Inputs& inputs : fa::inputs_with_nan(shape)) {
      check_against_oracle(inputs, shape, {.causal = causal}, tiles);
    }
  }
}

inline void check_infinite_scores(bool causal) {
  for (const fa::Tiles& tiles : fa::ragged_tiles) {
    for (const fa::Inputs& inputs : fa::inputs_with_infinite_scores()) {
      CAPTURE(inputs.q, inputs.k);
      check_against_oracle(inputs, fa::infinite_scores_shape, {.causal = causal}, tiles);
    }
  }
}

// Buffer by buffer, so that a failure says which of them was touched too often.
inline void check_traffic(bool causal) {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : fa::ragged_tiles) {
      CAPTURE(shape, tiles);
      const fa::Traffic formula = fa::v2_forward_traffic(shape, {.causal = causal}, tiles);
      const fa::Index q_bytes = 4 * fa::query_elements(shape), lse_bytes = 4 * fa::query_rows(shape);
      const Run run(fa::make_inputs(shape), shape, {.causal = causal}, tiles);
      CHECK(run.meter.of("q").read_bytes == q_bytes);
      CHECK(run.meter.of("k").read_bytes == (formula.read_bytes - q_bytes) / 2);
      CHECK(run.meter.of("v").read_bytes == (formula.read_bytes - q_bytes) / 2);
      CHECK(run.meter.of("out").read_bytes == 0);
      CHECK(run.meter.of("lse").read_bytes == 0);
      CHECK(run.meter.of("out").written_bytes == q_bytes);
      CHECK(run.meter.of("lse").written_bytes == lse_bytes);
      CHECK(formula.written_bytes == q_bytes + lse_bytes);
    }
  }
}

// A row's state beside the arguments of absorb_row.
struct State {
  float m = -fa::infinity, l = 0.0f;
  std::vector<float> u;

  void absorb(std::vector<float> scores, const std::vector<float>& values) {
    lesson::absorb_row(scores.data(), values.data(), m, l, u.data(), fa::Index(scores.size()), fa::Index(u.size()));
  }
  void check(double expected_m, double expected_l, const std::vector<double>& expected_u) const {
    fa::check_close("m", std::array{m}, std::array{expected_m}, {{"row", 1}}, kTight);
    fa::check_close("l", std::array{l}, std::array{expected_l}, {{"row", 1}}, kTight);
    fa::check_close("u", u, expected_u, {{"d", fa::Index(u.size())}}, kTight);
  }
};

}  // namespace support
