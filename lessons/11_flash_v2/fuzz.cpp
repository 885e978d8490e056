// Which arguments lesson 11 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "attention_forward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using fa::fuzz::Wide;
  fa::fuzz::Arguments arguments(bytes, count);
  const fa::Shape shape = arguments.shape();
  const fa::Options options = arguments.options();
  const Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  const Wide rows = fa::fuzz::rows_of(shape);
  const auto given = [&](Wide elements) {
    return std::vector<float>(static_cast<std::size_t>(arguments.elements(elements)), 0.5f);
  };
  const fa::DeviceBuffer<float> q("q", given(queries)), k("k", given(keys)), v("v", given(keys));
  fa::DeviceBuffer<float> out("out", arguments.elements(queries)), lse("lse", arguments.elements(rows));
  const fa::fuzz::Expected expected{.invalid = !fa::fuzz::is_shape(shape) || !fa::fuzz::is_options(options) ||
                                               shape.B > 65535 || shape.H > 65535 || shape.D > 128 ||
                                               q.size() != queries || k.size() != keys || v.size() != keys ||
                                               out.size() != queries || lse.size() != rows};
  if (!expected.invalid && !fa::fuzz::is_small(shape, 1)) return 0;

  const std::string words = fa::fuzz::in_words(shape, options, {});
  const bool accepted =
      fa::fuzz::succeeds([&] { lesson::attention_forward(q, k, v, out, lse, shape, options); }, expected, words);
  fa::fuzz::check_output("out", out.to_host(), accepted, words);
  fa::fuzz::check_output("lse", lse.to_host(), accepted, words);
  return 0;
}
