// What the tests of lesson 04 share: a run on metered memory, and messages that say which bytes are too many.

#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/heap.h"
#include "fa/testing.h"

namespace support {

inline constexpr fa::Index kHopperSram = 227 * 1024;  // what a thread block may use, in bytes

// One run: the outputs and everything that was metered.
struct Run {
  std::vector<float> out;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;  // what grows with N beyond q, k, v and out: m and l
  fa::Scratch::Array<float> m, l;
  fa::Index unmetered_bytes = 0;  // of the heap, taken beside `sram`

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : out(fa::poisoned(fa::query_elements(shape))),
        m(scratch.allocate<float>("m", fa::query_rows(shape))),
        l(scratch.allocate<float>("l", fa::query_rows(shape))) {
    const auto q = meter.buffer("q", inputs.q), k = meter.buffer("k", inputs.k), v = meter.buffer("v", inputs.v);
    const auto out_in_hbm = meter.buffer("out", out);
    const auto m_in_hbm = meter.buffer("m", m.span()), l_in_hbm = meter.buffer("l", l.span());
    const fa::HeapMeter heap;
    lesson::attention_forward(q, k, v, out_in_hbm, m_in_hbm, l_in_hbm, shape, options, tiles, sram);
    unmetered_bytes = heap.bytes() - sram.heap_bytes();
  }

  std::vector<float> lse() const {
    std::vector<float> result;
    for (fa::Index row = 0; row < m.size(); ++row) result.push_back(m[row] + std::log(l[row]));
    return result;
  }
};

// A call with operands for Nq = 2, Nk = 3, D = 2, but for the one called `small`, which lacks an element; and with
// `capacity` bytes of SRAM. When it throws, nothing may have been read or written.
inline void call_with_small(std::string_view small, const fa::Shape& shape, const fa::Tiles& tiles,
                            fa::Index capacity) {
  const auto values = [&](const char* name, fa::Index count) { return fa::poisoned(count - (small == name)); };
  std::vector<float> q = values("q", 4), k = values("k", 6), v = values("v", 6);
  std::vector<float> out = values("out", 4), m = values("m", 2), l = values("l", 2);
  fa::TrafficMeter meter;
  fa::Scratch sram("SRAM", capacity);
  try {
    lesson::attention_forward(meter.buffer("q", q), meter.buffer("k", k), meter.buffer("v", v),
                              meter.buffer("out", out), meter.buffer("m", m), meter.buffer("l", l), shape, {}, tiles,
                              sram);
  } catch (...) {
    CHECK(meter.total() == fa::Traffic{});
    throw;
  }
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                                 const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Run run(inputs, shape, options, tiles);
  fa::check_close("out", run.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  const std::initializer_list<fa::Extent> rows{{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}};
  const fa::Tolerance tolerance = fa::lse_tolerance(inputs.q, inputs.k, shape, options);
  fa::check_close("m + ln l", run.lse(), oracle.lse, rows, tolerance);
  // What m is beside an l of NaN is left open.
  std::vector<float> m(run.m.span().begin(), run.m.span().end());
  for (std::size_t row = 0; row < m.size(); ++row) {
    if (std::isnan(oracle.l[row])) oracle.m[row] = m[row] = fa::nan;
  }
  fa::check_close("m", m, oracle.m, rows, tolerance);
}

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Tiles& tiles,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) {
    check_against_oracle(inputs, shape, {.causal = causal, .scale = scale}, tiles);
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

// `expected` is worked by hand; the message takes it apart.
inline void check_tile_bytes(const fa::Tiles& tiles, fa::Index D, fa::Index expected) {
  const fa::Index got = lesson::tile_bytes(tiles, D), row_bytes = 4 * D;
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK("tile_bytes(" << tiles << ", D=" << D << "): expected " << expected << " bytes, got " << got
                             << " (q and out take " << tiles.Br * row_bytes << " each, k and v " << tiles.Bc * row_bytes
                             << " each, S " << 4 * tiles.Br * tiles.Bc << ", m and l " << 4 * tiles.Br << " each)");
  }
}

inline void check_choice(fa::Index sram_bytes, fa::Index D, const fa::Tiles& expected) {
  const fa::Tiles got = lesson::choose_tiles(sram_bytes, D);
  if (got.Br == expected.Br && got.Bc == expected.Bc) {
    SUCCEED();
  } else {
    FAIL_CHECK("choose_tiles(" << sram_bytes << " bytes, D=" << D << "): expected " << expected << ", got " << got
                               << ", which take " << lesson::tile_bytes(got, D) << " bytes");
  }
}

// Runs it and checks the bytes of each buffer. `met` is worked by hand: how many rows of Q tiles meet a K/V tile,
// summed over the pairs of tiles of one head.
inline void check_buffers(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index met) {
  CAPTURE(shape, options, tiles);
  const Run run(fa::make_inputs(shape), shape, options, tiles);
  const fa::Index statistic_bytes = 4 * fa::heads(shape), row_bytes = statistic_bytes * shape.D;  // of a row, all heads
  const fa::Index key_bytes = shape.Nk * row_bytes;
  const fa::Index stores = shape.Nq + met;  // of rows: once to initialize, and once for each trip
  check_traffic("k", {key_bytes, 0}, run.meter.of("k"));
  check_traffic("v", {key_bytes, 0}, run.meter.of("v"));
  check_traffic("q", {met * row_bytes, 0}, run.meter.of("q"));
  check_traffic("out", {met * row_bytes, stores * row_bytes}, run.meter.of("out"));
  check_traffic("m", {met * statistic_bytes, stores * statistic_bytes}, run.meter.of("m"));
  check_traffic("l", {met * statistic_bytes, stores * statistic_bytes}, run.meter.of("l"));
}

}  // namespace support
