// Lesson 09 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "fa/traffic.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element; SRAM that lacks a byte.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  if (one.flaw == 1) wrong = fa::wrong_argument(one, true);
  fa::Inputs inputs = one.inputs();
  Forward forward(inputs, one.shape, one.options);
  std::vector<float> dq = fa::poisoned(fa::query_elements(one.shape)), dk = fa::poisoned(fa::key_elements(one.shape)),
                     dv = dk;
  if (one.flaw == 2) {
    std::vector<float>* const operands[] = {&inputs.q,  &inputs.k,    &inputs.v, &forward.out, &forward.m,
                                            &forward.l, &inputs.dout, &dq,       &dk,          &dv};
    const std::vector<std::string> names{"q", "k", "v", "out", "m", "l", "dout", "dq", "dk", "dv"};
    const std::size_t small = one.seed % 10;
    if (operands[small]->empty()) return "";
    operands[small]->pop_back();
    wrong.text = names[small] + " has ";
  }
  const fa::Index needed = lesson::tile_bytes(one.tiles, one.shape.D);
  fa::Scratch sram("SRAM", one.flaw == 3 ? needed - 1 : fa::Scratch::unlimited);
  fa::TrafficMeter meter;
  const auto call = [&] {
    const auto in_hbm = [&](const char* name, std::vector<float>& memory) { return meter.buffer(name, memory); };
    lesson::attention_backward(in_hbm("q", inputs.q), in_hbm("k", inputs.k), in_hbm("v", inputs.v),
                               in_hbm("out", forward.out), in_hbm("m", forward.m), in_hbm("l", forward.l),
                               in_hbm("dout", inputs.dout), in_hbm("dq", dq), in_hbm("dk", dk), in_hbm("dv", dv),
                               wrong.shape, wrong.options, wrong.tiles, sram);
  };
  const std::string fault = one.flaw == 3 ? fa::accepted_fault<std::length_error>(call, "SRAM")
                                          : fa::accepted_fault<std::invalid_argument>(call, wrong.text);
  return fault.empty() ? fa::traffic_fault(meter.total(), {}) : fault;
}

inline void check_random() {
  fa::check_random_cases({.Br = {1, 9}, .Bc = {1, 9}, .flaws = 3}, 2000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles& tiles) -> fa::BackwardResult {
      const fa::Traffic formula = lesson::backward_traffic(shape, options, tiles);
      const Run got(inputs, shape, options, tiles);
      if (bytes.empty()) bytes = fa::traffic_fault(got.meter.total(), formula);
      if (bytes.empty()) bytes = fa::traffic_fault(formula, fa::v1_backward_traffic(shape, options, tiles));
      return {.dq = got.dq, .dk = got.dk, .dv = got.dv};
    };
    const std::string fault = fa::backward_fault(one, one.inputs(), run);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
