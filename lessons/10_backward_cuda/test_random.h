// Lesson 10 in random cases: see fa/property.h.

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
    const std::vector<std::string> names{"q", "out", "m", "l", "dout", "dq", "k", "v", "dk", "dv"};
    const std::size_t which = one.seed % 10;
    if ((which >= 6 ? fa::key_rows(one.shape) : fa::query_rows(one.shape)) == 0) return "";
    small = names[which];
    wrong.text = small + " has ";
  }
  const fa::Inputs inputs = one.inputs();
  Operands operands(inputs, Forward(inputs, one.shape, one.options), one.shape, small);
  operands.shape = wrong.shape;
  const auto call = [&] { operands.backward(wrong.options, wrong.tiles); };
  std::string fault;
  if (one.flaw == 3) {
    wrong.tiles.Bc += 100'000;
    fault = fa::accepted_fault<std::length_error>(call, "shared memory");
  } else {
    fault = fa::accepted_fault<std::invalid_argument>(call, wrong.text);
  }
  const Gradients gradients = operands.gradients();
  if (fault.empty()) fault = fa::written_fault("dq", gradients.dq);
  if (fault.empty()) fault = fa::written_fault("dk", gradients.dk);
  if (fault.empty()) fault = fa::written_fault("dv", gradients.dv);
  return fault;
}

inline void check_random() {
  const fa::CaseSpace space{
      .B = {1, 1}, .H = {1, 2}, .Nq = {0, 9}, .Nk = {0, 12}, .D = {1, 5}, .Br = {1, 6}, .Bc = {1, 6}, .flaws = 3};
  fa::check_random_cases(space, 2000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles& tiles) -> fa::BackwardResult {
      const fa::Traffic formula = lesson::backward_traffic(shape, options, tiles);
      Operands operands(inputs, Forward(inputs, shape, options), shape);
      const fa::DeviceMeter meter;
      operands.backward(options, tiles);
      if (fa::counts_bytes && bytes.empty()) bytes = fa::traffic_fault(meter.total(), formula);
      const Gradients got = operands.gradients();
      return {.dq = got.dq, .dk = got.dk, .dv = got.dv};
    };
    const std::string fault = fa::backward_fault(one, one.inputs(), run);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
