// Which arguments lesson 08 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include <array>

#include "attention_backward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  fa::fuzz::Arguments arguments(bytes, count);
  const fa::Shape shape = arguments.shape();
  const fa::Options options = arguments.options();
  const fa::fuzz::Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  // q, k, v, p, out, dout, dq, dk, dv
  const std::array elements{queries, keys, keys, fa::fuzz::scores_of(shape), queries, queries, queries, keys, keys};
  std::array<bool, elements.size()> is_null{};
  fa::fuzz::Expected expected{.invalid = !fa::fuzz::is_shape(shape) || !fa::fuzz::is_options(options)};
  for (std::size_t at = 0; at < elements.size(); ++at) {
    is_null[at] = arguments.is_null();
    expected.invalid = expected.invalid || (is_null[at] && elements[at] > 0);
  }
  if (!expected.invalid && !fa::fuzz::is_small(shape)) return 0;

  const std::vector<float> operand(fa::fuzz::most_elements, 0.5f);
  const auto poisoned = [](fa::fuzz::Wide size) {
    return fa::poisoned(size <= fa::fuzz::most_elements ? static_cast<fa::Index>(size) : 0);
  };
  std::vector<float> dq = poisoned(queries), dk = poisoned(keys), dv = poisoned(keys);
  const auto in = [&](std::size_t at) { return is_null[at] ? nullptr : operand.data(); };
  const auto to = [&](std::size_t at, std::vector<float>& gradient) { return is_null[at] ? nullptr : gradient.data(); };
  fa::Scratch scratch;
  const std::string words = fa::fuzz::in_words(shape, options, {});
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        lesson::attention_backward(in(0), in(1), in(2), in(3), in(4), in(5), to(6, dq), to(7, dk), to(8, dv), shape,
                                   options, scratch);
      },
      expected, words);
  fa::fuzz::check_output("dq", dq, accepted, words);
  fa::fuzz::check_output("dk", dk, accepted, words);
  fa::fuzz::check_output("dv", dv, accepted, words);
  return 0;
}
