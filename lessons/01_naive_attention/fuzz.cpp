// Which arguments lesson 01 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "attention_forward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  fa::fuzz::Arguments arguments(bytes, count);
  const fa::Shape shape = arguments.shape();
  const fa::Options options = arguments.options();
  const fa::fuzz::Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  const bool q_null = arguments.is_null(), k_null = arguments.is_null(), v_null = arguments.is_null();
  const bool out_null = arguments.is_null();
  const fa::fuzz::Expected expected{.invalid = !fa::fuzz::is_shape(shape) || !fa::fuzz::is_options(options) ||
                                               ((q_null || out_null) && queries > 0) ||
                                               ((k_null || v_null) && keys > 0)};
  if (!expected.invalid && !fa::fuzz::is_small(shape)) return 0;

  const std::vector<float> operand(fa::fuzz::most_elements, 0.5f);
  const auto all = static_cast<fa::Index>(queries > 0 && queries <= fa::fuzz::most_elements ? queries : 0);
  std::vector<float> out = fa::poisoned(all);
  fa::Scratch scratch;
  const auto in = [&](bool is_null) { return is_null ? nullptr : operand.data(); };
  const std::string words = fa::fuzz::in_words(shape, options, {});
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        lesson::attention_forward(in(q_null), in(k_null), in(v_null), out_null ? nullptr : out.data(), shape, options,
                                  scratch);
      },
      expected, words);
  fa::fuzz::check_output("out", out, accepted, words);
  return 0;
}
