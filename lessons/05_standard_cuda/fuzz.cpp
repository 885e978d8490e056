// Which arguments lesson 05 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "attention_forward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  fa::fuzz::Arguments arguments(bytes, count);
  const fa::Shape shape = arguments.shape();
  const fa::Options options = arguments.options();
  const fa::fuzz::Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  const fa::fuzz::Wide scores = fa::fuzz::scores_of(shape);
  const auto given = [&](const char* name, fa::fuzz::Wide elements) {
    return fa::DeviceBuffer<float>(name,
                                   std::vector<float>(static_cast<std::size_t>(arguments.elements(elements)), 0.5f));
  };
  const fa::DeviceBuffer<float> q = given("q", queries), k = given("k", keys), v = given("v", keys);
  const fa::DeviceBuffer<float> s_in = given("s", scores), p_in = given("p", scores);
  fa::DeviceBuffer<float> s("s", arguments.elements(scores)), p("p", arguments.elements(scores));
  fa::DeviceBuffer<float> out("out", arguments.elements(queries));
  fa::DeviceScratch scratch;

  // Which function, which operands it takes, and what it writes.
  const fa::Index function = arguments.choice(5);
  const bool sizes[] = {q.size() != queries || k.size() != keys || v.size() != keys || out.size() != queries,
                        q.size() != queries || k.size() != keys || s.size() != scores,
                        q.size() != queries || k.size() != keys || s.size() != scores,
                        s_in.size() != scores || p.size() != scores,
                        p_in.size() != scores || v.size() != keys || out.size() != queries};
  const fa::DeviceBuffer<float>* const outputs[] = {&out, &s, &s, &p, &out};
  const bool takes_options = function != 3;
  const fa::fuzz::Expected expected{.invalid = !fa::fuzz::is_shape(shape) || sizes[function] ||
                                               (takes_options && !fa::fuzz::is_options(options))};
  if (!expected.invalid && !fa::fuzz::is_small(shape, 1)) return 0;

  const std::string words = "function " + std::to_string(function) + ": " + fa::fuzz::in_words(shape, options, {});
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        if (function == 0) lesson::attention_forward(q, k, v, out, shape, options, scratch);
        if (function == 1) lesson::scores_untiled(q, k, s, shape, options);
        if (function == 2) lesson::scores(q, k, s, shape, options);
        if (function == 3) lesson::softmax(s_in, p, shape);
        if (function == 4) lesson::product(p_in, v, out, shape, options);
      },
      expected, words);
  fa::fuzz::check_output(outputs[function]->name(), outputs[function]->to_host(), accepted, words);
  return 0;
}
