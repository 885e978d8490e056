// Lesson 03 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/attention_property.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element; SRAM that lacks a byte.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  if (one.flaw == 1) wrong = fa::wrong_argument(one, true);
  const fa::Inputs inputs = one.inputs();
  std::vector<float> q = inputs.q, k = inputs.k, v = inputs.v, out = fa::poisoned(fa::query_elements(one.shape)),
                     lse = fa::poisoned(fa::query_rows(one.shape));
  if (one.flaw == 2) {
    std::vector<float>* const operands[] = {&q, &k, &v, &out, &lse};
    const std::size_t small = one.seed % 5;
    if (operands[small]->empty()) return "";
    operands[small]->pop_back();
    wrong.text = std::vector<std::string>{"q", "k", "v", "out", "lse"}[small] + " has ";
  }
  const auto& [Br, Bc] = one.tiles;
  const fa::Index needed = 4 * ((2 * Br + 2 * Bc) * one.shape.D + Br * Bc + 2 * Br);
  fa::Scratch sram("SRAM", one.flaw == 3 ? needed - 1 : fa::Scratch::unlimited);
  fa::TrafficMeter meter;
  const auto call = [&, q_in_hbm = meter.buffer("q", q), k_in_hbm = meter.buffer("k", k),
                     v_in_hbm = meter.buffer("v", v), out_in_hbm = meter.buffer("out", out),
                     lse_in_hbm = meter.buffer("lse", lse)] {
    lesson::attention_forward(q_in_hbm, k_in_hbm, v_in_hbm, out_in_hbm, lse_in_hbm, wrong.shape, wrong.options,
                              wrong.tiles, sram);
  };
  const std::string fault = one.flaw == 3 ? fa::accepted_fault<std::length_error>(call, "SRAM")
                                          : fa::accepted_fault<std::invalid_argument>(call, wrong.text);
  return fault.empty() ? fa::traffic_fault(meter.total(), {}) : fault;
}

inline void check_random() {
  fa::check_random_cases({.Br = {1, 9}, .Bc = {1, 9}, .flaws = 3}, 3000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles& tiles) -> fa::ForwardResult {
      const Run got(inputs, shape, options, tiles);
      if (bytes.empty()) bytes = fa::traffic_fault(got.meter.total(), fa::v2_forward_traffic(shape, options, tiles));
      return {.out = got.out, .lse = {got.lse.span().begin(), got.lse.span().end()}};
    };
    const std::string fault = fa::forward_fault(one, one.inputs(), run);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
