// Which arguments lesson 04 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include <algorithm>

#include "attention_forward.h"

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
  const auto poisoned = [&](Wide elements) { return fa::poisoned(arguments.elements(elements)); };
  const std::vector<float> q = given(queries);
  const std::vector<float> k = given(keys);
  const std::vector<float> v = given(keys);
  std::vector<float> out = poisoned(queries);
  std::vector<float> m = poisoned(rows);
  std::vector<float> l = poisoned(rows);

  const auto fits = [](const std::vector<float>& operand, Wide elements) { return Wide(operand.size()) == elements; };
  fa::fuzz::Expected expected;
  expected.invalid = !fa::fuzz::is_shape(shape) || !fa::fuzz::is_options(options) || !fa::fuzz::is_tiles(tiles) ||
                     !fits(q, queries) || !fits(k, keys) || !fits(v, keys) || !fits(out, queries) || !fits(m, rows) ||
                     !fits(l, rows);
  // Tiles of q and out, of k and v, S, and the rows of m and l, in float.
  const auto& [Br, Bc] = tiles;
  const bool sane = fa::fuzz::is_shape(shape) && fa::fuzz::is_tiles(tiles);  // so no product overflows
  const Wide D = shape.D, needed = sane ? 4 * ((2 * Wide{Br} + 2 * Wide{Bc}) * D + Wide{Br} * Bc + 2 * Wide{Br}) : 0;
  const Wide room = needed - 1 + arguments.choice(4);  // of a byte too little to two more
  const auto capacity = static_cast<fa::Index>(std::clamp<Wide>(room, 0, 1 << 16));
  expected.too_long = needed > capacity;
  if (!expected.invalid && !expected.too_long && !fa::fuzz::is_small(shape)) return 0;

  fa::Scratch sram("SRAM", capacity);
  fa::TrafficMeter meter;
  const auto q_in_hbm = meter.buffer("q", q);
  const auto k_in_hbm = meter.buffer("k", k);
  const auto v_in_hbm = meter.buffer("v", v);
  const auto out_in_hbm = meter.buffer("out", out);
  const auto m_in_hbm = meter.buffer("m", m);
  const auto l_in_hbm = meter.buffer("l", l);
  const std::string words =
      fa::fuzz::in_words(shape, options, tiles) + ", SRAM of " + std::to_string(capacity) + " bytes";
  const bool accepted = fa::fuzz::succeeds(
      [&] {
        lesson::attention_forward(q_in_hbm, k_in_hbm, v_in_hbm, out_in_hbm, m_in_hbm, l_in_hbm, shape, options, tiles,
                                  sram);
      },
      expected, words);
  fa::fuzz::check_output("out", out, accepted, words);
  fa::fuzz::check_output("m", m, accepted, words);
  fa::fuzz::check_output("l", l, accepted, words);
  return 0;
}
