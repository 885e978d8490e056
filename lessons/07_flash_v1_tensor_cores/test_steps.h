// What the tests of single steps of lesson 07 share: one pair of tiles as far as a step, and a row tile by tile.

#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

// Runs `call`. Steps after `step` need not be written yet: what comes before them in the kernel has run, when there is
// one warp and one pair of tiles. Returns what to ask if it has not, or "".
template <class Call>
std::string as_far_as(int step, Call call) {
  try {
    call();
  } catch (const fa::NotStarted& unwritten) {
    const std::string text = unwritten.what();  // "not started: Step 4: ..."
    const std::size_t at = text.find("Step ");
    if (at == std::string::npos || text[at + 5] - '0' <= step) throw;
    return "step " + std::string(1, text[at + 5]) +
           ", not written yet, stopped the kernel at its first thread: does step " + std::to_string(step) +
           " end with its barrier, outside of loops and branches?";
  }
  return "";
}

// Calls it with the first and with the last thread of a block as the first one at an unwritten step, and with the
// number of the warp, of two, that has then done all before it.
template <class Call>
void from_either_end(Call call) {
#ifndef FA_CUDA
  for (const auto& [order, warp] : {std::pair{fa::simt::Order::forward, 0}, {fa::simt::Order::backward, 1}}) {
    fa::simt::Settings settings = fa::simt::settings();
    settings.order = order;
    const fa::simt::With until_the_end_of_this_turn(settings);
    call(warp);
  }
#else
  for (const int warp : {0, 1}) call(warp);
#endif
}

// One K/V tile, absorbed as far as `step`: what it moved, and the state after it. What other steps or earlier tiles
// should have left in HBM is there, made up: partial = 0, m = 0, l = 1.
template <class T>
struct OneTile {
  Operands<T> operands;
  fa::DeviceMeter meter;
  std::string question;  // of as_far_as

  OneTile(int step, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options = {},
          const fa::Tiles& tiles = {.Br = 16, .Bc = 16}, fa::Index tile = 0)
      : operands(inputs, shape) {
    if (tile > 0) operands.begin_state(1);
    question = as_far_as(step, [&] { operands.absorb(options, tiles, tile, tile + 1); });
  }
  OneTile(int step, const fa::Shape& shape, const fa::Options& options = {},
          const fa::Tiles& tiles = {.Br = 16, .Bc = 16}, fa::Index tile = 0)
      : OneTile(step, inputs_of<T>(shape), shape, options, tiles, tile) {}

  // In bytes: whole sectors of 32.
  fa::Index in_sectors(std::string_view buffer) const {
    for (const fa::BufferTraffic& row : meter.by_buffer()) {
      if (row.buffer == buffer) return 32 * (row.read_sectors + row.written_sectors);
    }
    return 0;
  }
};

// m or l of these queries, to a few roundings of float.
template <class T>
void check_rows_of(const OneTile<T>& pair, const fa::DeviceBuffer<float>& buffer, fa::Index first,
                   std::span<const double> expected, double relative) {
  const fa::Index rows = fa::Index(expected.size());
  const bool some_missing = fa::counts_bytes && pair.meter.of(buffer.name()).written_bytes < 4 * rows;
  if (some_missing && !pair.question.empty()) UNSCOPED_INFO(pair.question);
  const std::string name = buffer.name() + (first == 0 ? "" : " from query " + std::to_string(first) + " on");
  fa::check_close(name, buffer.to_host(first, rows), expected, {{"i", rows}},
                  {.absolute = 1e-6, .relative = relative, .normwise = 1e-6});
}

// m or l of one pair of tiles of at most 32 queries, with and without a mask, whichever thread comes first. Of two
// warps the one is looked at that has come as far as the step.
enum class Statistic { m, l };
template <class T>
void check_statistic_of_a_pair(Statistic which, int step, const fa::Shape& shape, const fa::Tiles& tiles,
                               std::optional<float> scale = std::nullopt) {
  const fa::Inputs inputs = inputs_of<T>(shape);
  for (const bool causal : {false, true}) {
    const fa::Options options{.causal = causal, .scale = scale};
    CAPTURE(shape, options, tiles);
    const ExactState exact = exact_state(inputs, shape, options, shape.Nk);
    from_either_end([&](int warp) {
      const OneTile<T> pair(step, inputs, shape, options, tiles);
      const fa::Index first = tiles.Br > lesson::kRows ? warp * lesson::kRows : 0;
      const auto part = [&](const std::vector<double>& all) {
        const auto from_first = std::span(all).subspan(std::size_t(first));
        return from_first.first(std::min(from_first.size(), std::size_t{lesson::kRows}));
      };
      if (which == Statistic::m) {
        check_rows_of(pair, pair.operands.state.m, first, part(exact.m), 2e-6);
      } else {
        check_rows_of(pair, pair.operands.state.l, first, part(exact.l), 1e-5);
      }
    });
  }
}

// One row, with numbers in the first of D = 64 columns and zeros in the others. The query is 1, so its scores are the
// keys. Tiles hold 16 keys: what is written as a tile of fewer is filled up with scores of −inf, which weigh nothing.
inline constexpr fa::Index row_Bc = 16;
inline fa::Inputs one_row(const std::vector<std::vector<float>>& score_tiles, const std::vector<float>& values) {
  constexpr std::size_t D = 64;
  fa::Inputs inputs{.q = std::vector<float>(D), .k = {}, .v = {}, .dout = {}};
  inputs.q[0] = 1.0f;
  std::size_t next = 0;
  for (const std::vector<float>& scores : score_tiles) {
    for (std::size_t key = 0; key < row_Bc; ++key) {
      inputs.k.resize(inputs.k.size() + D), inputs.v.resize(inputs.v.size() + D);
      const bool there = key < scores.size();
      inputs.k[inputs.k.size() - D] = there ? scores[key] : -fa::infinity;
      inputs.v[inputs.v.size() - D] = there ? values.at(next++) : 7.0f;
    }
  }
  return inputs;
}

// The row's state after each of these tiles: its m, l, and the first column of partial, which for the last tile is that
// of out.
struct RowState {
  std::vector<float> result, m, l;
};
template <class T>
RowState after_each_tile(int step, const std::vector<std::vector<float>>& score_tiles, const std::vector<float>& values,
                         float scale = 1.0f) {
  const fa::Index tiles = fa::Index(score_tiles.size());
  const fa::Shape shape{.Nq = 1, .Nk = tiles * row_Bc, .D = 64};
  Operands<T> operands(one_row(score_tiles, values), shape);
  operands.begin_state(step);
  RowState after;
  for (fa::Index tile = 0; tile < tiles; ++tile) {
    as_far_as(step, [&] { operands.absorb({.scale = scale}, {.Br = 16, .Bc = row_Bc}, tile, tile + 1); });
    const Result got = operands.result();
    after.result.push_back(tile + 1 < tiles ? got.partial[0] : got.out[0]);
    after.m.push_back(got.m[0]), after.l.push_back(got.l[0]);
  }
  return after;
}
inline void check_after_each_tile(std::string_view what, const std::vector<float>& got,
                                  const std::vector<double>& expected, double relative = 1e-6) {
  fa::check_close(what, got, expected, {{"tile", fa::Index(expected.size())}},
                  {.absolute = 1e-6, .relative = relative, .normwise = relative});
}

}  // namespace support
