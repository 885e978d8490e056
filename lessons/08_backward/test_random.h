// Lesson 08 in random cases: see fa/property.h.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "test_support.h"

namespace support {

// The flaws: a wrong argument; a null pointer in place of an operand.
inline std::string rejection_fault(const fa::RandomCase& one) {
  fa::WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  if (one.flaw == 1) wrong = fa::wrong_argument(one, false);
  const fa::Inputs inputs = one.inputs();
  const Forward forward(inputs, one.shape, one.options);
  std::vector<float> dq = fa::poisoned(fa::query_elements(one.shape)), dk = fa::poisoned(fa::key_elements(one.shape)),
                     dv = dk;
  const float* operands[] = {inputs.q.data(),  inputs.k.data(),    inputs.v.data(),
                             forward.p.data(), forward.out.data(), inputs.dout.data()};
  float* gradients[] = {dq.data(), dk.data(), dv.data()};
  if (one.flaw == 2) {
    const std::vector<std::string> names{"q", "k", "v", "p", "out", "dout", "dq", "dk", "dv"};
    const fa::Index of_queries = fa::query_elements(one.shape), of_keys = fa::key_elements(one.shape);
    const fa::Index elements[] = {of_queries, of_keys, of_keys, fa::score_elements(one.shape), of_queries, of_queries,
                                  of_queries, of_keys, of_keys};
    const std::size_t null = one.seed % 9;
    if (elements[null] == 0) return "";  // may be null
    if (null < 6) operands[null] = nullptr;
    if (null >= 6) gradients[null - 6] = nullptr;
    wrong.text = names[null] + " = null";
  }
  fa::Scratch scratch;
  std::string fault = fa::accepted_fault<std::invalid_argument>(
      [&] {
        lesson::attention_backward(operands[0], operands[1], operands[2], operands[3], operands[4], operands[5],
                                   gradients[0], gradients[1], gradients[2], wrong.shape, wrong.options, scratch);
      },
      wrong.text);
  if (fault.empty()) fault = fa::written_fault("dq", dq);
  if (fault.empty()) fault = fa::written_fault("dk", dk);
  if (fault.empty()) fault = fa::written_fault("dv", dv);
  return fault;
}

inline void check_random() {
  fa::check_random_cases({.flaws = 2}, 3000, [](const fa::RandomCase& one) {
    if (one.flaw > 0) return rejection_fault(one);
    const auto run = [](const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                        const fa::Tiles&) -> fa::BackwardResult {
      const Run got(inputs, shape, options);
      return {.dq = got.dq, .dk = got.dk, .dv = got.dv};
    };
    return fa::backward_fault(one, one.inputs(), run);
  });
}

}  // namespace support
