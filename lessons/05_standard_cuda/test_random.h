// Lesson 05 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "test_scores.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; an operand that lacks an element.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  if (one.flaw == 1) wrong = fa::wrong_argument(one, false);
  fa::Inputs inputs = one.inputs();
  fa::Index out_elements = fa::query_elements(one.shape);
  if (one.flaw == 2) {
    std::vector<float>* const operands[] = {&inputs.q, &inputs.k, &inputs.v};
    const std::size_t small = one.seed % 4;
    if ((small == 3 ? out_elements : fa::Index(operands[small]->size())) == 0) return "";
    if (small == 3) --out_elements;
    if (small < 3) operands[small]->pop_back();
    wrong.text = std::vector<std::string>{"q", "k", "v", "out"}[small] + " has ";
  }
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  fa::DeviceBuffer<float> out("out", out_elements);
  fa::DeviceScratch scratch;
  const std::string fault = fa::accepted_fault<std::invalid_argument>(
      [&] { lesson::attention_forward(q, k, v, out, wrong.shape, wrong.options, scratch); }, wrong.text);
  return fault.empty() ? fa::written_fault("out", out.to_host()) : fault;
}

// Steps 1 and 2 compute the same scores, up to rounding.
inline std::string scores_fault(const fa::RandomCase& one, const fa::Inputs& inputs) {
  const std::vector<float> untiled = run_scores(lesson::scores_untiled, inputs, one.shape, one.options);
  const std::vector<float> tiled = run_scores(lesson::scores, inputs, one.shape, one.options);
  const double rounding = fa::lse_tolerance(inputs.q, inputs.k, one.shape, one.options).absolute;
  const auto& [B, H, Nq, Nk, D] = one.shape;
  const fa::Comparison comparison =
      fa::compare("scores_untiled, beside scores: s", untiled, std::vector<double>(tiled.begin(), tiled.end()),
                  {{"b", B}, {"h", H}, {"i", Nq}, {"j", Nk}}, {.absolute = 4 * rounding, .normwise = 1.0});
  return comparison.ok ? "" : comparison.message;
}

inline void check_random() {
  const fa::CaseSpace space{.B = {1, 1}, .H = {1, 2}, .Nq = {0, 9}, .Nk = {0, 40}, .D = {1, 5}, .flaws = 2};
  fa::check_random_cases(space, 2000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    std::string bytes;
    const auto run = [&](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                         const fa::Tiles&) -> fa::ForwardResult {
      const fa::Traffic formula = lesson::forward_traffic(shape);
      const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
      fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
      fa::DeviceScratch scratch;
      const fa::DeviceMeter meter;
      lesson::attention_forward(q, k, v, out, shape, options, scratch);
      const bool all_see = !options.causal || shape.Nq <= shape.Nk;  // a query that sees no key may cost less
      if (fa::counts_bytes && all_see && bytes.empty()) bytes = fa::traffic_fault(meter.total(), formula);
      return {.out = out.to_host(), .lse = {}};
    };
    const fa::Inputs inputs = one.inputs();
    std::string fault = fa::forward_fault(one, inputs, run);
    if (fault.empty()) fault = scores_fault(one, inputs);
    return fault.empty() ? bytes : fault;
  });
}

}  // namespace support
