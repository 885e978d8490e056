// Which arguments lesson 10 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "attention_backward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using fa::fuzz::Wide;
  fa::fuzz::Arguments arguments(bytes, count);
  const fa::Shape shape = arguments.shape();
  const fa::Options options = arguments.options();
  const fa::Tiles tiles = arguments.tiles();
  const Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  const Wide rows = fa::fuzz::rows_of(shape);
  const auto given = [&](Wide elements) {
    return std::vector<float>(static_cast<std::size_t>(arguments.elements(elements)), 0.5f);
  };
  const fa::DeviceBuffer<float> q("q", given(queries)), k("k", given(keys)), v("v", given(keys));
  const fa::DeviceBuffer<float> out("out", given(queries)), dout("dout", given(queries)), m("m", given(rows));
  const fa::DeviceBuffer<float> l("l", given(rows)), delta_in("delta", given(rows));
  fa::DeviceBuffer<float> delta("delta", arguments.elements(rows)), dq("dq", arguments.elements(queries));
  fa::DeviceBuffer<float> dk("dk", arguments.elements(keys)), dv("dv", arguments.elements(keys));
  fa::DeviceScratch scratch;

  // attention_backward, prepare, or absorb_tiles, which adds to a dq that nobody began: it is only rejected.
  const fa::Index function = arguments.choice(3), first_tile = arguments.integer();
  const bool prepares = function == 1;
  fa::fuzz::Expected expected;
  expected.invalid = !fa::fuzz::is_shape(shape) || dout.size() != queries || dq.size() != queries ||
                     (function != 2 && out.size() != queries);
  if (prepares) {
    expected.invalid = expected.invalid || delta.size() != rows;
  } else {
    expected.invalid = expected.invalid || !fa::fuzz::is_options(options) || !fa::fuzz::is_tiles(tiles) ||
                       shape.H > 65535 || q.size() != queries || k.size() != keys || v.size() != keys ||
                       m.size() != rows || l.size() != rows || dk.size() != keys || dv.size() != keys;
  }
  if (function == 2) expected.invalid = expected.invalid || first_tile < 0 || delta_in.size() != rows;
  const auto bytes_of = [](Wide floats) { return (4 * floats + 15) / 16 * 16; };
  const bool sane = fa::fuzz::is_shape(shape) && fa::fuzz::is_tiles(tiles);
  const fa::Tiles fit = sane ? tiles : fa::Tiles{};  // so that no product overflows
  const Wide Br = fit.Br, Bc = fit.Bc, D = sane ? shape.D : 1;
  const Wide needed = 2 * bytes_of(Br * D) + 2 * bytes_of(Bc * (D + 1)) + 2 * bytes_of(Bc * D) + 2 * bytes_of(Br * Bc) +
                      3 * bytes_of(Br);
  expected.too_long = !prepares && needed > fa::device().shared_bytes_per_block;
  const bool acceptable = !expected.invalid && !expected.too_long;
  if (acceptable && (function == 2 || !fa::fuzz::is_small(shape))) return 0;

  const std::string words = "function " + std::to_string(function) + ": " + fa::fuzz::in_words(shape, options, tiles) +
                            ", first_tile=" + std::to_string(first_tile);
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        if (function == 0)
          lesson::attention_backward(q, k, v, out, m, l, dout, dq, dk, dv, shape, options, tiles, scratch);
        if (function == 1) lesson::prepare(out, dout, delta, dq, shape);
        if (function == 2)
          lesson::absorb_tiles(q, k, v, m, l, dout, delta_in, dq, dk, dv, shape, options, tiles, first_tile, 9);
      },
      expected, words);
  fa::fuzz::check_output("dq", dq.to_host(), accepted, words);
  fa::fuzz::check_output("delta", delta.to_host(), accepted && prepares, words);
  fa::fuzz::check_output("dk", dk.to_host(), accepted && !prepares, words);
  fa::fuzz::check_output("dv", dv.to_host(), accepted && !prepares, words);
  return 0;
}
