// Lesson 07 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "fa/half_accuracy.h"
#include "fa/traffic.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element; a tile that does not fit into shared memory.
template <class T>
std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  std::string small;
  if (one.flaw == 1) wrong = fa::wrong_argument(one, true);
  if (one.flaw == 2) {
    const std::size_t which = one.seed % 7;
    if ((which == 1 || which == 2 ? fa::key_rows(one.shape) : fa::query_rows(one.shape)) == 0) return "";
    small = std::vector<std::string>{"q", "k", "v", "out", "partial", "m", "l"}[which];
    wrong.text = small + " has ";
  }
  Operands<T> operands(one.inputs(), one.shape, small);
  operands.shape = wrong.shape;
  const auto call = [&] { operands.forward(Kernel::exercise, wrong.options, wrong.tiles); };
  std::string fault;
  if (one.flaw == 3) {
    wrong.tiles.Bc += 100'000;
    fault = fa::accepted_fault<std::length_error>(call, "shared memory");
  } else {
    fault = fa::accepted_fault<std::invalid_argument>(call, wrong.text);
  }
  const Result result = operands.result();
  if (fault.empty()) fault = fa::written_fault("out", operands.out.to_host());
  if (fault.empty()) fault = fa::written_fault("partial", result.partial);
  if (fault.empty()) fault = fa::written_fault("m", result.m);
  if (fault.empty()) fault = fa::written_fault("l", result.l);
  return fault;
}

template <class T>
std::string random_fault(const fa::RandomCase& one) {
  if (one.flaw > 0) return rejection_fault<T>(one);
  std::string bytes;
  const auto run = [&](const fa::Inputs& any, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles) -> fa::ForwardResult {
    Operands<T> operands(any, shape);
    const fa::DeviceMeter meter;
    operands.forward(Kernel::exercise, options, tiles);
    if (fa::counts_bytes && bytes.empty()) {
      bytes = fa::traffic_fault(meter.total(), fa::v1_tensor_core_traffic(shape, options, {lesson::kRows, tiles.Bc}));
    }
    const Result result = operands.result();
    return {.out = result.out, .lse = result.lse()};
  };
  const auto tolerance = [](const fa::Inputs& inputs, const std::vector<double>& out, const fa::Shape& shape,
                            const fa::Options& options) {
    return fa::half_tolerance<T>(inputs.q, inputs.k, inputs.v, out, shape, options);
  };
  const std::string fault = fa::forward_fault(one, inputs_of<T>(one.inputs()), run, tolerance);
  return fault.empty() ? bytes : fault;
}

inline void check_random() {
  const fa::CaseSpace space{.B = {1, 1},
                            .H = {1, 2},
                            .Nq = {0, 20},
                            .Nk = {0, 40},
                            .D = {64, 64},
                            .Br = {16, 32, 16},
                            .Bc = {16, 32, 16},
                            .flaws = 3};
  fa::check_random_cases(space, 2000, [](const fa::RandomCase& one) {
    return one.seed % 2 == 0 ? random_fault<fa::half>(one) : random_fault<fa::bfloat16>(one);
  });
}

}  // namespace support
