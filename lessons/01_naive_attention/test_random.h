// Lesson 01 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "attention_forward.h"
#include "fa/attention_property.h"
#include "fa/testing.h"

namespace support {

// A wrong argument, or a null pointer in place of an operand, is named, and out is left alone.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  if (one.flaw == 1) wrong = fa::wrong_argument(one, false);
  const fa::Inputs inputs = one.inputs();
  std::vector<float> out = fa::poisoned(fa::query_elements(one.shape));
  const float* operands[] = {inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data()};
  if (one.flaw == 2) {
    const std::size_t null = one.seed % 4;
    const bool of_queries = null == 0 || null == 3;
    if ((of_queries ? fa::query_elements(one.shape) : fa::key_elements(one.shape)) == 0) return "";  // may be null
    operands[null] = nullptr;
    wrong.text = std::vector<std::string>{"q", "k", "v", "out"}[null] + " = null";
  }
  fa::Scratch scratch;
  const std::string fault = fa::accepted_fault<std::invalid_argument>(
      [&] {
        lesson::attention_forward(operands[0], operands[1], operands[2], operands[3] == nullptr ? nullptr : out.data(),
                                  wrong.shape, wrong.options, scratch);
      },
      wrong.text);
  return fault.empty() ? fa::written_fault("out", out) : fault;
}

inline void check_random() {
  fa::check_random_cases({.flaws = 2}, 4000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    const auto run = [](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                        const fa::Tiles&) -> fa::ForwardResult {
      fa::Scratch scratch;
      std::vector<float> out = fa::poisoned(fa::query_elements(shape));
      lesson::attention_forward(inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), shape, options, scratch);
      return {.out = out, .lse = {}};
    };
    return fa::forward_fault(one, one.inputs(), run);
  });
}

}  // namespace support
