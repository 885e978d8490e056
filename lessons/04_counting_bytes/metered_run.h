// What the tests of lesson 04 share: a run on metered memory, and messages that say which bytes are too many.

#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr fa::Index kHopperSram = 227 * 1024;  // what a thread block may use, in bytes

// Both ways round, dividing nothing, smaller and larger than what they cut.
inline constexpr fa::Tiles kTiles[] = {{.Br = 1, .Bc = 1}, {.Br = 3, .Bc = 5},   {.Br = 5, .Bc = 3},
                                       {.Br = 8, .Bc = 8}, {.Br = 32, .Bc = 16}, {.Br = 200, .Bc = 300}};

// One run: the outputs and everything that was metered.
struct Run {
  std::vector<float> out, m, l;
  fa::TrafficMeter meter;
  fa::Scratch sram{"SRAM"};
  fa::Scratch scratch;  // m and l: what grows with N beyond q, k, v and out

  Run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : out(fa::poisoned(fa::query_elements(shape))),
        m(fa::poisoned(fa::query_rows(shape))),
        l(fa::poisoned(fa::query_rows(shape))) {
    const auto statistics = scratch.allocate<float>("m and l", 2 * fa::query_rows(shape));
    lesson::attention_forward(meter.buffer("q", inputs.q), meter.buffer("k", inputs.k), meter.buffer("v", inputs.v),
                              meter.buffer("out", out), meter.buffer("m", m), meter.buffer("l", l), shape, options,
                              tiles, sram);
  }
};

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                                 const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Run run(inputs, shape, options, tiles);
  fa::check_close("out", run.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  std::vector<float> lse;
  for (std::size_t row = 0; row < run.m.size(); ++row) {
    lse.push_back(run.l[row] == 0.0f ? -kInfinity : run.m[row] + std::log(run.l[row]));
  }
  fa::check_close("m + ln l", lse, oracle.lse, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}},
                  fa::lse_tolerance(inputs.q, inputs.k, shape, options));
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
  const fa::Index got = lesson::tile_bytes(tiles, D), row = 4 * D;
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK("tile_bytes(" << tiles << ", D=" << D << "): expected " << expected << " bytes, got " << got
                             << " (q and out take " << tiles.Br * row << " each, k and v " << tiles.Bc * row
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
  const fa::Index scalar = 4 * fa::heads(shape), row = scalar * shape.D, keys = shape.Nk * row;
  const fa::Index stored = shape.Nq + met;  // once to initialize, and once for each trip
  check_traffic("k", {keys, 0}, run.meter.of("k"));
  check_traffic("v", {keys, 0}, run.meter.of("v"));
  check_traffic("q", {met * row, 0}, run.meter.of("q"));
  check_traffic("out", {met * row, stored * row}, run.meter.of("out"));
  check_traffic("m", {met * scalar, stored * scalar}, run.meter.of("m"));
  check_traffic("l", {met * scalar, stored * scalar}, run.meter.of("l"));
}
