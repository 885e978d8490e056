// Lesson 06 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "fa/traffic.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element; a tile that does not fit into shared memory.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  std::string small;
  if (one.flaw == 1) wrong = fa::wrong_argument(one, true);
  if (one.flaw == 2) {
    const std::size_t which = one.seed % 6;
    if ((which == 1 || which == 2 ? fa::key_rows(one.shape) : fa::query_rows(one.shape)) == 0) return "";
    small = std::vector<std::string>{"q", "k", "v", "out", "m", "l"}[which];
    wrong.text = small + " has ";
  }
  Operands operands(one.inputs(), one.shape, small);
  operands.shape = wrong.shape;
  std::string fault;
  if (one.flaw == 3) {
    wrong.tiles.Bc += 100'000;
    fault =
        fa::accepted_fault<std::length_error>([&] { operands.forward(wrong.options, wrong.tiles); }, "shared memory");
  } else {
    fault =
        fa::accepted_fault<std::invalid_argument>([&] { operands.forward(wrong.options, wrong.tiles); }, wrong.text);
  }
  const State state = operands.state();
  if (fault.empty()) fault = fa::written_fault("out", state.out);
  if (fault.empty()) fault = fa::written_fault("m", state.m);
  if (fault.empty()) fault = fa::written_fault("l", state.l);
  return fault;
}

inline void check_random() {
  const fa::CaseSpace space{
      .B = {1, 1}, .H = {1, 2}, .Nq = {0, 9}, .Nk = {0, 12}, .D = {1, 5}, .Br = {1, 6}, .Bc = {1, 6}, .flaws = 3};
  fa::check_random_cases(space, 2000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles& tiles) -> fa::ForwardResult {
      Operands operands(inputs, shape);
      const fa::DeviceMeter meter;
      operands.forward(options, tiles);
      if (fa::counts_bytes && bytes.empty()) {
        bytes = fa::traffic_fault(meter.total(), fa::v1_forward_traffic(shape, options, tiles));
      }
      const State state = operands.state();
      return {.out = state.out, .lse = state.lse()};
    };
    const std::string fault = fa::forward_fault(one, one.inputs(), run);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
