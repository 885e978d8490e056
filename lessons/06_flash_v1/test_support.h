// What the tests of lesson 06 share: operands on the device, runs, and an exact state to compare with.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

// Both ways round, dividing nothing, smaller and larger than what they cut; at D = 70 within the 64 KiB of a T4.
inline constexpr fa::Tiles tiles_that_fit[] = {
    {.Br = 3, .Bc = 5}, {.Br = 5, .Bc = 3}, {.Br = 8, .Bc = 8}, {.Br = 32, .Bc = 16}, {.Br = 70, .Bc = 40}};

// Tiles of one row make so many pairs that they are tried on a small shape only.
inline constexpr fa::Tiles smallest_tiles{.Br = 1, .Bc = 1};
inline constexpr fa::Shape small_shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 3};

// What HBM holds of the result.
struct State {
  std::vector<float> out, m, l;

  std::vector<float> lse() const {
    std::vector<float> result;
    for (std::size_t row = 0; row < m.size(); ++row) result.push_back(m[row] + std::log(l[row]));
    return result;
  }
};

// All operands, in HBM; the outputs poisoned. `one_less` names an operand that lacks an element.
struct Operands {
  fa::Shape shape;
  fa::DeviceBuffer<float> q, k, v, out, m, l;

  Operands(const fa::Inputs& inputs, const fa::Shape& of, std::string_view one_less = "")
      : shape(of),
        q("q", part(inputs.q, one_less == "q")),
        k("k", part(inputs.k, one_less == "k")),
        v("v", part(inputs.v, one_less == "v")),
        out("out", fa::query_elements(of) - (one_less == "out")),
        m("m", fa::query_rows(of) - (one_less == "m")),
        l("l", fa::query_rows(of) - (one_less == "l")) {}

  // With the state of rows that have seen no key.
  static Operands with_empty_state(const fa::Inputs& inputs, const fa::Shape& shape) {
    Operands operands(inputs, shape);
    operands.initialize();
    return operands;
  }

  static std::span<const float> part(const std::vector<float>& values, bool one_less) {
    return std::span(values).first(values.size() - std::size_t{one_less});
  }

  void initialize() { lesson::initialize(out, m, l, shape); }
  void forward(const fa::Options& options, const fa::Tiles& tiles) {
    lesson::attention_forward(q, k, v, out, m, l, shape, options, tiles);
  }
  void absorb(const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile, fa::Index end_tile) {
    lesson::absorb_tiles(q, k, v, out, m, l, shape, options, tiles, first_tile, end_tile);
  }
  State state() const { return {out.to_host(), m.to_host(), l.to_host()}; }
};

inline State run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  Operands operands(inputs, shape);
  operands.forward(options, tiles);
  return operands.state();
}

// Runs `call`. Steps after `step` need not be written yet: what comes before them in the kernel has run, when there is
// one block and one pair of tiles, and `step` ends with its barrier. Returns what to ask if it has not, or "".
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

// Calls it with the first and with the last thread of a block as the first one at an unwritten step.
template <class Call>
void from_either_end(Call call) {
#ifndef FA_CUDA
  for (const auto order : {fa::simt::Order::forward, fa::simt::Order::backward}) {
    fa::simt::Settings settings = fa::simt::settings();
    settings.order = order;
    const fa::simt::With until_the_end_of_this_turn(settings);
    call();
  }
#else
  call();
#endif
}

// The first pair of tiles, absorbed as far as `step`: what it moved, and the state after it.
struct FirstPair {
  Operands operands;
  fa::DeviceMeter meter;
  std::string question;  // of as_far_as

  FirstPair(int step, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
            const fa::Tiles& tiles)
      : operands(Operands::with_empty_state(inputs, shape)) {
    question = as_far_as(step, [&] { operands.absorb(options, tiles, 0, 1); });
  }
  FirstPair(int step, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : FirstPair(step, fa::make_inputs(shape), shape, options, tiles) {}

  // In bytes: whole sectors of 32.
  fa::Index read_in_sectors(std::string_view buffer) const {
    for (const fa::BufferTraffic& row : meter.by_buffer()) {
      if (row.buffer == buffer) return 32 * row.read_sectors;
    }
    return 0;
  }
};

// One row with D = 1 and q = 1, so that its scores are the keys: the state after each K/V tile.
inline State after_each_tile(const std::vector<float>& keys, const std::vector<float>& values, fa::Index Bc, int step) {
  const fa::Shape shape{.Nq = 1, .Nk = static_cast<fa::Index>(keys.size()), .D = 1};
  Operands operands = Operands::with_empty_state({.q = {1}, .k = keys, .v = values, .dout = {}}, shape);
  State after;
  for (fa::Index tile = 0; tile * Bc < shape.Nk; ++tile) {
    as_far_as(step, [&] { operands.absorb({}, {.Br = 1, .Bc = Bc}, tile, tile + 1); });
    const State state = operands.state();
    after.out.push_back(state.out[0]), after.m.push_back(state.m[0]), after.l.push_back(state.l[0]);
  }
  return after;
}
inline void check_after_each_tile(std::string_view what, const std::vector<float>& got,
                                  const std::vector<double>& expected) {
  fa::check_close(what, got, expected, {{"tile", static_cast<fa::Index>(expected.size())}},
                  {.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6});
}

// The state of each row over the first `keys` keys, as far as it sees them, in double.
struct ExactState {
  std::vector<double> out, m, l;
};
inline ExactState exact_state(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                              fa::Index keys) {
  ExactState state;
  const double scale = double(fa::scale_of(shape, options));
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    const fa::Index head = row / shape.Nq;
    const fa::Index seen = std::min(keys, fa::visible_keys(shape, options, row % shape.Nq));
    const auto key = [&](fa::Index j, fa::Index d) { return std::size_t((head * shape.Nk + j) * shape.D + d); };
    std::vector<double> score;
    double m = fa::negative_infinity, l = 0.0;
    for (fa::Index j = 0; j < seen; ++j) {
      double dot = 0.0;
      for (fa::Index d = 0; d < shape.D; ++d) {
        dot += double(inputs.q[std::size_t(row * shape.D + d)]) * double(inputs.k[key(j, d)]);
      }
      score.push_back(scale * dot);
      m = std::max(m, score.back());
    }
    for (const double s : score) l += std::exp(s - m);
    for (fa::Index d = 0; d < shape.D; ++d) {
      double u = 0.0;
      for (fa::Index j = 0; j < seen; ++j) u += std::exp(score[std::size_t(j)] - m) * double(inputs.v[key(j, d)]);
      state.out.push_back(seen == 0 ? 0.0 : u / l);
    }
    state.m.push_back(m);
    state.l.push_back(l);
  }
  return state;
}

inline void check_state(const State& got, const ExactState& expected, const fa::Shape& shape) {
  const fa::Tolerance tolerance{.absolute = 2e-5, .relative = 2e-5, .normwise = 1e-5};
  fa::check_close("m", got.m, expected.m, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}}, tolerance);
  fa::check_close("l", got.l, expected.l, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}}, tolerance);
  fa::check_close("out", got.out, expected.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  tolerance);
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                                 const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  State got = run(inputs, shape, options, tiles);
  fa::check_close("out", got.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  const std::initializer_list<fa::Extent> rows{{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}};
  const fa::Tolerance tolerance = fa::lse_tolerance(inputs.q, inputs.k, shape, options);
  fa::check_close("m + ln l", got.lse(), oracle.lse, rows, tolerance);
  // What m is beside an l of NaN is left open.
  for (std::size_t row = 0; row < got.m.size(); ++row) {
    if (std::isnan(oracle.l[row])) oracle.m[row] = got.m[row] = fa::nan;
  }
  fa::check_close("m", got.m, oracle.m, rows, tolerance);
}

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Tiles& tiles,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) {
    check_against_oracle(inputs, shape, {.causal = causal, .scale = scale}, tiles);
  }
}

// Bytes are counted by the emulator. On a GPU, ./course profile 06 asks the hardware.
inline void require_counts() {
  if (!fa::counts_bytes) SKIP("a GPU does not count bytes: see ./course profile 06");
}

// `question`: what to ask if there are too few.
inline void check_bytes(std::string_view what, fa::Index expected, fa::Index got, const std::string& question = "") {
  if (got == expected) {
    SUCCEED();
  } else {
    const bool ask = got < expected && !question.empty();
    FAIL_CHECK(what << ": expected " << expected << " bytes, got " << got << (ask ? "\n" + question : ""));
  }
}

inline void check_traffic(std::string_view what, const fa::Traffic& expected, const fa::Traffic& got,
                          const std::string& question = "") {
  check_bytes(std::string(what) + ", read", expected.read_bytes, got.read_bytes, question);
  check_bytes(std::string(what) + ", written", expected.written_bytes, got.written_bytes, question);
}

// m or l, a number for each query of the pair, to a few roundings.
inline void check_rows_of(const FirstPair& pair, const fa::DeviceBuffer<float>& buffer,
                          const std::vector<double>& expected, double relative) {
  const fa::Index rows = fa::Index(expected.size());
  const bool some_missing = fa::counts_bytes && pair.meter.of(buffer.name()).written_bytes < 4 * rows;
  if (some_missing && !pair.question.empty()) UNSCOPED_INFO(pair.question);
  fa::check_close(buffer.name(), buffer.to_host(), expected, {{"i", rows}},
                  {.absolute = 1e-6, .relative = relative, .normwise = 1e-6});
}

// Fails unless all of the outputs are as they were before anybody wrote.
inline void check_unwritten(const Operands& operands) {
  for (const fa::DeviceBuffer<float>* buffer : {&operands.out, &operands.m, &operands.l}) {
    for (const float value : buffer->to_host()) {
      if (fa::is_poison(value)) continue;
      FAIL_CHECK(buffer->name() << " was written: " << value);
      break;
    }
  }
}

}  // namespace support
