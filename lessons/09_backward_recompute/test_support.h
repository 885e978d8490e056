// What the tests of lesson 09 share: a run on metered memory, and messages that say which bytes are too many.

#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_backward.h"
#include "comparison.h"
#include "fa/heap.h"
#include "fa/testing.h"

namespace support {

inline constexpr fa::Index kHopperSram = 227 * 1024;  // what a thread block may use, in bytes

inline std::vector<double> in_double(std::span<const float> values) { return {values.begin(), values.end()}; }

// What an exact forward pass leaves, rounded to float.
struct Forward {
  std::vector<float> out, m, l;

  Forward(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
    out.assign(oracle.out.begin(), oracle.out.end());
    m.assign(oracle.m.begin(), oracle.m.end());
    l.assign(oracle.l.begin(), oracle.l.end());
  }
};

// One run: the gradients and everything that was metered.
struct Run {
  std::vector<float> dq, dk, dv;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;            // what grows with N beyond operands, out and gradients: m and l
  fa::Index unmetered_bytes = 0;  // of the heap, taken beside `sram`

  Run(const fa::Inputs& inputs, const Forward& forward, const fa::Shape& shape, const fa::Options& options,
      const fa::Tiles& tiles)
      : dq(fa::poisoned(fa::query_elements(shape))),
        dk(fa::poisoned(fa::key_elements(shape))),
        dv(fa::poisoned(fa::key_elements(shape))) {
    auto m = scratch.allocate<float>("m", fa::query_rows(shape)),
         l = scratch.allocate<float>("l", fa::query_rows(shape));
    std::copy(forward.m.begin(), forward.m.end(), m.data());
    std::copy(forward.l.begin(), forward.l.end(), l.data());
    const auto q = meter.buffer("q", inputs.q), k = meter.buffer("k", inputs.k), v = meter.buffer("v", inputs.v);
    const auto out = meter.buffer("out", forward.out), dout = meter.buffer("dout", inputs.dout);
    const auto m_in_hbm = meter.buffer("m", m.span()), l_in_hbm = meter.buffer("l", l.span());
    const auto dq_in_hbm = meter.buffer("dq", dq), dk_in_hbm = meter.buffer("dk", dk);
    const auto dv_in_hbm = meter.buffer("dv", dv);
    const fa::HeapMeter heap;
    lesson::attention_backward(q, k, v, out, m_in_hbm, l_in_hbm, dout, dq_in_hbm, dk_in_hbm, dv_in_hbm, shape, options,
                               tiles, sram);
    unmetered_bytes = heap.bytes() - sram.heap_bytes();
  }

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : Run(inputs, Forward(inputs, shape, options), shape, options, tiles) {}
};

// A call with operands for Nq = 2, Nk = 3, D = 2, but for the one called `small`, which lacks an element; and with
// `capacity` bytes of SRAM. When it throws, nothing may have been read or written.
inline void call_with_small(std::string_view small, const fa::Shape& shape, const fa::Tiles& tiles, fa::Index capacity,
                            const fa::Options& options = {}) {
  const auto values = [&](const char* name, fa::Index count) { return fa::poisoned(count - (small == name)); };
  std::vector<float> q = values("q", 4), k = values("k", 6), v = values("v", 6), out = values("out", 4);
  std::vector<float> m = values("m", 2), l = values("l", 2), dout = values("dout", 4);
  std::vector<float> dq = values("dq", 4), dk = values("dk", 6), dv = values("dv", 6);
  fa::TrafficMeter meter;
  fa::Scratch sram("SRAM", capacity);
  try {
    lesson::attention_backward(meter.buffer("q", q), meter.buffer("k", k), meter.buffer("v", v),
                               meter.buffer("out", out), meter.buffer("m", m), meter.buffer("l", l),
                               meter.buffer("dout", dout), meter.buffer("dq", dq), meter.buffer("dk", dk),
                               meter.buffer("dv", dv), shape, options, tiles, sram);
  } catch (...) {
    CHECK(meter.total() == fa::Traffic{});
    throw;
  }
}

inline void check_bad_arguments() {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Tiles two{.Br = 2, .Bc = 2};
  Run(fa::make_inputs(shape), shape, {}, {});  // what is right is not rejected
  fa::check_rejects([&] { call_with_small("", shape, {.Br = 0, .Bc = 2}, 1000); }, "Br = 0");
  fa::check_rejects([&] { call_with_small("", shape, {.Br = 2, .Bc = -1}, 1000); }, "Bc = -1");
  fa::check_rejects([&] { call_with_small("", shape, two, 1000, {.scale = fa::infinity}); }, "scale = inf");
  fa::check_rejects([&] { call_with_small("", {.Nq = 2, .Nk = -3, .D = 2}, two, 1000); }, "Nk = -3");
  for (const std::string name : {"q", "k", "v", "out", "m", "l", "dout", "dq", "dk", "dv"}) {
    fa::check_rejects([&] { call_with_small(name, shape, two, 1000); }, name + " has ");
  }
  CHECK_THROWS_AS(call_with_small("", shape, two, 159), std::length_error);  // 160 bytes are needed
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

// The oracle at one shape, for runs with any tiles.
class Expected {
 public:
  Expected(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options)
      : inputs_(inputs),
        shape_(shape),
        options_(options),
        forward_(inputs, shape, options),
        oracle_(fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options)),
        tolerance_(fa::backward_tolerance(inputs.q, inputs.k, inputs.v, inputs.dout, oracle_, shape, options)) {}

  void check(const fa::Tiles& tiles) const {
    INFO(shape_ << ", " << options_ << ", " << tiles);
    const Run run(inputs_, forward_, shape_, options_, tiles);
    check_gradients(run.dq, run.dk, run.dv);
  }

  // The same of lesson::standard_backward, with P as an exact forward pass leaves it. Returns what it moved.
  fa::Traffic check_standard() const {
    std::vector<float> dq = fa::poisoned(fa::query_elements(shape_)), dk = fa::poisoned(fa::key_elements(shape_));
    std::vector<float> dv = dk;
    const std::vector<float> p = weights();
    fa::TrafficMeter meter;
    fa::Scratch scratch;
    lesson::standard_backward(meter.buffer("q", inputs_.q), meter.buffer("k", inputs_.k), meter.buffer("v", inputs_.v),
                              meter.buffer("p", p), meter.buffer("dout", inputs_.dout), meter.buffer("dq", dq),
                              meter.buffer("dk", dk), meter.buffer("dv", dv), shape_, options_, meter, scratch);
    check_gradients(dq, dk, dv);
    return meter.total();
  }

 private:
  void check_gradients(std::span<const float> dq, std::span<const float> dk, std::span<const float> dv) const {
    const fa::Extent b{"b", shape_.B}, h{"h", shape_.H}, i{"i", shape_.Nq}, j{"j", shape_.Nk}, d{"d", shape_.D};
    fa::check_close("dv", dv, oracle_.dv, {b, h, j, d}, tolerance_.dv);
    fa::check_close("dk", dk, oracle_.dk, {b, h, j, d}, tolerance_.dk);
    fa::check_close("dq", dq, oracle_.dq, {b, h, i, d}, tolerance_.dq);
  }

  std::vector<float> weights() const {  // (B, H, Nq, Nk)
    std::vector<float> p;
    const double scale = double(fa::scale_of(shape_, options_));
    for (fa::Index row = 0; row < fa::query_rows(shape_); ++row) {
      for (fa::Index j = 0; j < shape_.Nk; ++j) {
        double dot = 0.0;
        for (fa::Index d = 0; d < shape_.D; ++d) {
          dot += double(inputs_.q[std::size_t(row * shape_.D + d)]) *
                 double(inputs_.k[std::size_t((row / shape_.Nq * shape_.Nk + j) * shape_.D + d)]);
        }
        const std::size_t at = std::size_t(row);
        const bool seen = j < fa::visible_keys(shape_, options_, row % shape_.Nq);
        p.push_back(seen ? float(std::exp(scale * dot - double(forward_.m[at])) / double(forward_.l[at])) : 0.0f);
      }
    }
    return p;
  }

  const fa::Inputs& inputs_;
  fa::Shape shape_;
  fa::Options options_;
  Forward forward_;
  fa::BackwardOracle oracle_;
  fa::BackwardTolerance tolerance_;
};

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape, std::span<const fa::Tiles> tiles,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) {
    const Expected expected(inputs, shape, {.causal = causal, .scale = scale});
    for (const fa::Tiles& one : tiles) expected.check(one);
  }
}

inline void check_bytes(std::string_view what, fa::Index expected, fa::Index got) {
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK(what << ": expected " << expected << " bytes, got " << got);
  }
}

inline void check_traffic(std::string_view what, const fa::Traffic& expected, const fa::Traffic& got) {
  check_bytes(std::string(what) + ", read", expected.read_bytes, got.read_bytes);
  check_bytes(std::string(what) + ", written", expected.written_bytes, got.written_bytes);
}

// Formula and count, with any tiles.
inline void check_formula(const fa::Shape& shape, const fa::Options& options) {
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Forward forward(inputs, shape, options);
  for (const fa::Tiles& tiles : fa::ragged_tiles) {
    CAPTURE(shape, tiles, options);
    const Run run(inputs, forward, shape, options, tiles);
    check_traffic("backward_traffic", run.meter.total(), lesson::backward_traffic(shape, options, tiles));
  }
}

// `expected` is worked by hand; the message takes it apart.
inline void check_tile_bytes(const fa::Tiles& tiles, fa::Index D, fa::Index expected) {
  const fa::Index got = lesson::tile_bytes(tiles, D), row_bytes = 4 * D;
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK("tile_bytes(" << tiles << ", D=" << D << "): expected " << expected << " bytes, got " << got
                             << " (q, out, dout, dq take " << tiles.Br * row_bytes << " each, k, v, dk, dv "
                             << tiles.Bc * row_bytes << " each, P " << 4 * tiles.Br * tiles.Bc << ", m and l "
                             << 4 * tiles.Br << " each)");
  }
}

// One head of N = 4096 in float: the formula at the tiles that fit into 227 KiB, and the idealized standard pass.
inline void check_against_standard(fa::Index D, fa::Index v1, fa::Index standard) {
  const fa::Shape shape{.Nq = 4096, .Nk = 4096, .D = D};
  CAPTURE(D);
  check_bytes("V1", v1, lesson::backward_traffic(shape, {}, lesson::choose_tiles(kHopperSram, D)).total());
  check_bytes("standard", standard, fa::standard_backward_traffic(shape).total());
}

// Runs it and checks the bytes of each buffer. `met` is worked by hand: how many rows of Q tiles meet a K/V tile,
// summed over the pairs of tiles of one head.
inline void check_buffers(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index met) {
  CAPTURE(shape, options, tiles);
  const Run run(fa::make_inputs(shape), shape, options, tiles);
  const fa::Index statistic_bytes = 4 * fa::heads(shape), row_bytes = statistic_bytes * shape.D;  // of a row, all heads
  const fa::Index key_bytes = shape.Nk * row_bytes;
  for (const char* name : {"k", "v"}) check_traffic(name, {key_bytes, 0}, run.meter.of(name));
  for (const char* name : {"dk", "dv"}) check_traffic(name, {0, key_bytes}, run.meter.of(name));
  for (const char* name : {"q", "out", "dout"}) check_traffic(name, {met * row_bytes, 0}, run.meter.of(name));
  for (const char* name : {"m", "l"}) check_traffic(name, {met * statistic_bytes, 0}, run.meter.of(name));
  // dq: once to initialize, and once for each trip.
  check_traffic("dq", {met * row_bytes, (shape.Nq + met) * row_bytes}, run.meter.of("dq"));
}

}  // namespace support
