// What the tests of steps 2 to 4 of lesson 10 share: the first pair of tiles, as far as a step, and lesson 08's
// example.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"
#include "test_support.h"

namespace support {

// Numbers by hand have six digits.
inline constexpr fa::Tolerance by_hand{.absolute = 1e-6, .relative = 2e-6, .normwise = 1e-5};

// Lesson 08's example: one query, three keys, scale = 1. Its scores are 2, 1, 0; the loss is the first number of out.
inline const fa::Shape example{.Nq = 1, .Nk = 3, .D = 2};
inline const fa::Options example_options{.scale = 1.0f};
inline const fa::Inputs example_inputs{.q = {1, 1},                 // (1, 2)
                                       .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                       .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                       .dout = {1, 0}};             // (1, 2)

inline Forward example_forward() {
  Forward forward;
  forward.out = {1.849579f, 14.247896f};
  forward.m = {2}, forward.l = {1.503215f}, forward.delta = {1.849579f};
  return forward;
}

// All of it, in tiles of Bc keys.
inline void check_example(fa::Index Bc) {
  CAPTURE(Bc);
  Operands operands(example_inputs, example_forward(), example);
  operands.backward(example_options, {.Br = 1, .Bc = Bc});
  const Gradients got = operands.gradients();
  const std::vector dv{0.665241, 0.0, 0.244728, 0.0, 0.090031, 0.0};
  const std::vector dk{-0.565175, -0.565175, 0.281541, 0.281541, 0.283634, 0.283634};
  fa::check_close("dq", got.dq, std::vector{-1.413984, 0.565175}, {{"d", 2}}, by_hand);
  fa::check_close("dv", got.dv, dv, {{"j", 3}, {"d", 2}}, by_hand);
  fa::check_close("dk", got.dk, dk, {{"j", 3}, {"d", 2}}, by_hand);
}

// In bytes: whole sectors of 32.
inline fa::Index in_sectors(const fa::DeviceMeter& meter, std::string_view buffer) {
  for (const fa::BufferTraffic& row : meter.by_buffer()) {
    if (row.buffer == buffer) return 32 * (row.read_sectors + row.written_sectors);
  }
  return 0;
}

// What step 2 makes of any shape.
inline void check_prepared(const fa::Shape& shape) {
  CAPTURE(shape);
  const fa::Inputs inputs = fa::make_inputs(shape);
  const Forward forward(inputs, shape, {});
  Operands operands(inputs, forward, shape);
  operands.prepare();
  const fa::Extent b{"b", shape.B}, h{"h", shape.H}, i{"i", shape.Nq};
  fa::check_close("delta", operands.delta.to_host(), in_double(forward.delta), {b, h, i},
                  {.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-5});
  fa::check_close("dq", operands.dq.to_host(), std::vector<double>(inputs.q.size()), {b, h, i, {"d", shape.D}}, {});
}

inline void check_traffic_of_prepare() {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 16, .Nk = 1, .D = 64};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, {}), shape);
  fa::DeviceMeter meter;
  operands.prepare();
  const fa::Index rows = 4 * fa::query_rows(shape);
  for (const std::string name : {"out", "dout"}) check_traffic(name, {rows * 64, 0}, meter.of(name));
  check_traffic("delta", {0, rows}, meter.of("delta"));
  check_traffic("dq", {0, rows * 64}, meter.of("dq"));
  for (const std::string name : {"out", "dout", "dq"}) {
    check_bytes(name + ", in whole sectors", rows * 64, in_sectors(meter, name));
  }
}

// Runs `call`. Steps after `step` need not be written yet: what comes before them in the kernel has run, when there is
// one block and one pair of tiles.
template <class Call>
void as_far_as(int step, Call call) {
  try {
    call();
  } catch (const fa::NotStarted& unwritten) {
    const std::string text = unwritten.what();  // "not started: Step 4a: ..."
    const std::size_t at = text.find("Step ");
    if (at == std::string::npos || text[at + 5] - '0' <= step) throw;
  }
}

// The first pair of tiles, absorbed as far as `step`: what it moved, and dq after it.
struct FirstPair {
  Operands operands;
  fa::DeviceMeter meter;

  FirstPair(int step, const fa::Inputs& inputs, const Forward& forward, const fa::Shape& shape,
            const fa::Options& options, const fa::Tiles& tiles)
      : operands(inputs, forward, shape) {
    operands.set_prepared(forward);
    as_far_as(step, [&] { operands.absorb(options, tiles, 0, 1); });
  }
  FirstPair(int step, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
            const fa::Tiles& tiles)
      : FirstPair(step, inputs, Forward(inputs, shape, options), shape, options, tiles) {}
  FirstPair(int step, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles)
      : FirstPair(step, fa::make_inputs(shape), shape, options, tiles) {}

  // That so many rows of the queries and of the keys were read, once each.
  void check_read(fa::Index queries, fa::Index keys) const {
    const fa::Index D = operands.shape.D;
    for (const char* name : {"k", "v"}) check_traffic(name, {4 * keys * D, 0}, meter.of(name));
    for (const char* name : {"q", "dout"}) check_traffic(name, {4 * queries * D, 0}, meter.of(name));
    for (const char* name : {"m", "l", "delta"}) check_traffic(name, {4 * queries, 0}, meter.of(name));
  }
};

// dS of one query, which dq shows: the keys are unit vectors and scale is 1, so dq_j is ds_j. dout_0 = 1 is the only
// number of dout, so dp_j is the first number of v_j.
struct Row {
  std::vector<float> scores, dp;
  float m = 0, l = 1, delta = 0;
};
inline void check_row(const Row& row, const std::vector<double>& expected) {
  const fa::Index N = fa::Index(row.scores.size());
  const fa::Shape shape{.Nq = 1, .Nk = N, .D = N};
  const std::vector<float> zeros(std::size_t(N * N), 0.0f);
  fa::Inputs inputs{.q = row.scores, .k = zeros, .v = zeros, .dout = std::vector<float>(std::size_t(N), 0.0f)};
  inputs.dout[0] = 1;
  for (std::size_t j = 0; j < std::size_t(N); ++j) {
    inputs.k[j * std::size_t(N) + j] = 1;
    inputs.v[j * std::size_t(N)] = row.dp[j];
  }
  Forward forward;
  forward.out.assign(std::size_t(N), 0.0f);
  forward.m = {row.m}, forward.l = {row.l}, forward.delta = {row.delta};
  CAPTURE(row.scores, row.m, row.l, row.dp, row.delta);
  const FirstPair pair(4, inputs, forward, shape, {.scale = 1.0f}, {.Br = 2, .Bc = N + 1});
  fa::check_close("ds", pair.operands.dq.to_host(), expected, {{"j", N}}, by_hand);
}

// dq of the first K/V tile, against the exact one. All queries are in one Q tile.
inline void check_first_tile(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                             fa::Index Bc) {
  CAPTURE(shape, options, Bc);
  const FirstPair pair(4, inputs, shape, options, {.Br = shape.Nq + 1, .Bc = Bc});
  fa::check_close("dq", pair.operands.dq.to_host(), query_gradient_over(inputs, shape, options, Bc),
                  {{"i", shape.Nq}, {"d", shape.D}}, {.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-5});
}

}  // namespace support
