// Lesson 11 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "fa/traffic.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element, or has one too many; too many columns.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  std::string resized;
  int more = one.seed % 2 == 0 ? 1 : -1;
  if (one.flaw == 1) wrong = fa::wrong_argument(one, false);
  if (one.flaw == 2) {
    const std::size_t which = one.seed % 5;
    if ((which == 1 || which == 2 ? fa::key_rows(one.shape) : fa::query_rows(one.shape)) == 0) more = 1;
    resized = std::vector<std::string>{"q", "k", "v", "out", "lse"}[which];
    wrong.text = resized + " has ";
  }
  if (one.flaw == 3) wrong.shape.D = 129, wrong.text = "D = 129";
  Operands operands(one.inputs(), one.shape, resized, more);
  operands.shape = wrong.shape;
  std::string fault = fa::accepted_fault<std::invalid_argument>([&] { operands.forward(wrong.options); }, wrong.text);
  const Result result = operands.result();
  if (fault.empty()) fault = fa::written_fault("out", result.out);
  if (fault.empty()) fault = fa::written_fault("lse", result.lse);
  return fault;
}

inline void check_random() {
  const fa::CaseSpace space{.B = {1, 1}, .H = {1, 2}, .Nq = {0, 70}, .Nk = {0, 40}, .D = {1, 5}, .flaws = 3};
  fa::check_random_cases(space, 2000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles&) -> fa::ForwardResult {
      Operands operands(inputs, shape);
      const fa::DeviceMeter meter;
      operands.forward(options);
      if (fa::counts_bytes && bytes.empty()) {
        bytes = fa::traffic_fault(meter.total(), fa::v2_forward_traffic(shape, options, tiles));
      }
      const Result result = operands.result();
      return {.out = result.out, .lse = result.lse};
    };
    const std::string fault = fa::forward_fault(one, one.inputs(), run);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
