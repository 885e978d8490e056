// Which arguments lesson 07 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "attention_forward.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using fa::fuzz::Wide;
  fa::fuzz::Arguments arguments(bytes, count);
  fa::Shape shape = arguments.shape();
  fa::Tiles tiles = arguments.tiles();
  const fa::Options options = arguments.options();
  // Mostly such as are accepted: 64 or 128 columns, and multiples of 16 or 64.
  if (arguments.choice(8) > 0) shape.D = arguments.choice(2) == 0 ? 64 : 128;
  if (arguments.choice(8) > 0) tiles = {.Br = 16 * arguments.choice(20), .Bc = 16 * arguments.choice(40)};
  const Wide queries = fa::fuzz::queries_of(shape), keys = fa::fuzz::keys_of(shape);
  const Wide rows = fa::fuzz::rows_of(shape);
  const auto given = [&](Wide elements) {
    return std::vector<fa::half>(static_cast<std::size_t>(arguments.elements(elements)), fa::half(0.5f));
  };
  const fa::DeviceBuffer<fa::half> q("q", given(queries)), k("k", given(keys)), v("v", given(keys));
  fa::DeviceBuffer<fa::half> out("out", arguments.elements(queries));
  fa::DeviceScratch scratch;
  lesson::State state(scratch, {.Nq = 0});
  state.partial = fa::DeviceBuffer<float>("partial", arguments.elements(queries));
  state.m = fa::DeviceBuffer<float>("m", arguments.elements(rows));
  state.l = fa::DeviceBuffer<float>("l", arguments.elements(rows));

  // attention_forward, attention_forward_mma, or absorb_tiles, which goes on with a state that nobody began: it is only
  // rejected.
  const fa::Index function = arguments.choice(3), first_tile = arguments.integer();
  const bool mma = function == 1;
  fa::fuzz::Expected expected;
  expected.invalid = !fa::fuzz::is_shape(shape) || !fa::fuzz::is_options(options) || !fa::fuzz::is_tiles(tiles) ||
                     (shape.D != 64 && shape.D != 128) || shape.H > 65535 || tiles.Br % 16 != 0 ||
                     tiles.Br > (mma ? 128 : 256) || tiles.Bc % (mma ? 64 : 16) != 0 || q.size() != queries ||
                     k.size() != keys || v.size() != keys || out.size() != queries || state.partial.size() != queries ||
                     state.m.size() != rows || state.l.size() != rows || (function == 2 && first_tile < 0);
  const bool sane = fa::fuzz::is_shape(shape) && fa::fuzz::is_tiles(tiles);
  const fa::Tiles fit = sane ? tiles : fa::Tiles{};  // so that no product overflows
  const Wide Br = fit.Br, Bc = fit.Bc, D = sane ? shape.D : 64, widest = Bc > D ? Bc : D;
  const Wide of_keys = 2 * 2 * Bc * (D + 8), of_queries = 2 * Br * (widest + 8) + 4 * Br * (widest + 4);
  const Wide needed = of_keys + (mma ? 0 : of_queries);  // each of the four is a multiple of 16
  expected.too_long = needed > fa::device().shared_bytes_per_block;
  const bool acceptable = !expected.invalid && !expected.too_long;
  if (acceptable && (function == 2 || !fa::fuzz::is_small(shape))) return 0;

  const std::string words = "function " + std::to_string(function) + ": " + fa::fuzz::in_words(shape, options, tiles) +
                            ", first_tile=" + std::to_string(first_tile);
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        if (function == 0) lesson::attention_forward(q, k, v, out, state, shape, options, tiles);
        if (function == 1) lesson::attention_forward_mma(q, k, v, out, state, shape, options, tiles);
        if (function == 2) lesson::absorb_tiles(q, k, v, out, state, shape, options, tiles, first_tile, 9);
      },
      expected, words);
  fa::fuzz::check_output("out", out.to_host(), accepted, words);
  fa::fuzz::check_output("m", state.m.to_host(), accepted, words);
  fa::fuzz::check_output("l", state.l.to_host(), accepted, words);
  if (!accepted) fa::fuzz::check_output("partial", state.partial.to_host(), false, words);  // one tile leaves it alone
  return 0;
}
