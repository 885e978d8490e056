// What lesson 06 rejects, and what it must accept.

#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

// Every function that takes tiles must say how much they need and how much there is.
inline void check_tiles_too_large(const fa::Shape& shape, const fa::Tiles& tiles) {
  Operands operands(fa::make_inputs(shape), shape);
  const std::string sizes = "need " + std::to_string(lesson::shared_memory_bytes(tiles, shape.D)) +
                            " bytes, but a block has " + std::to_string(fa::device().shared_bytes_per_block) + " ";
  const auto says_both = Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(sizes));
  CHECK_THROWS_MATCHES(operands.forward({}, tiles), std::length_error, says_both);
  CHECK_THROWS_MATCHES(operands.absorb({}, tiles, 0, 1), std::length_error, says_both);
  check_unwritten(operands);
}

inline void check_largest_tiles() {
  const fa::Shape shape{.Nq = 40, .Nk = 70, .D = 20};
  fa::Index Bc = 1;
  while (lesson::shared_memory_bytes({.Br = 32, .Bc = Bc + 1}, shape.D) <= fa::device().shared_bytes_per_block) ++Bc;
  check_both_masks(fa::make_inputs(shape), shape, {.Br = 32, .Bc = Bc});
}

#ifndef FA_CUDA  // a GPU has what it has

inline constexpr fa::Shape limit_shape{.Nq = 20, .Nk = 23, .D = 6};
inline constexpr fa::Tiles limit_tiles{.Br = 8, .Bc = 16};

// The emulator's settings as they are, but with so many bytes beside what limit_tiles need.
inline fa::simt::Settings with_room_for_limit_tiles(fa::Index more) {
  fa::simt::Settings settings = fa::simt::settings();
  settings.shared_bytes_per_block = lesson::shared_memory_bytes(limit_tiles, limit_shape.D) + more;
  return settings;
}

inline void check_one_byte_short() {
  const fa::simt::With small_device(with_room_for_limit_tiles(-1));
  check_tiles_too_large(limit_shape, limit_tiles);
}

inline void check_tiles_that_fit_exactly() {
  const fa::simt::With small_device(with_room_for_limit_tiles(0));
  check_both_masks(fa::make_inputs(limit_shape), limit_shape, limit_tiles);
}

#endif

// `one_less` names an operand that lacks an element; every function that takes it must say so.
inline void check_rejected(const std::string& one_less, const fa::Shape& asked, const std::string& text,
                           const fa::Tiles& tiles = {.Br = 2, .Bc = 2}, const fa::Options& options = {}) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  Operands operands(fa::make_inputs(shape), shape, one_less);
  operands.shape = asked;
  fa::check_rejects([&] { operands.forward(options, tiles); }, text);
  fa::check_rejects([&] { operands.absorb(options, tiles, 0, 1); }, text);
  if (one_less == "out" || one_less == "m" || one_less == "l") {
    fa::check_rejects([&] { operands.initialize(); }, text);
  }
  check_unwritten(operands);
}

inline void check_rejections() {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  run(fa::make_inputs(shape), shape, {}, {.Br = 2, .Bc = 2});  // what is right is not rejected
  check_rejected("", shape, "Br = 0", {.Br = 0, .Bc = 2});
  check_rejected("", shape, "Bc = 0", {.Br = 2, .Bc = 0});
  check_rejected("", {.Nq = 2, .Nk = -3, .D = 2}, "Nk = -3");
  check_rejected("", {.H = 65536, .Nq = 2, .Nk = 3, .D = 2}, "H = 65536");
  check_rejected("", shape, "scale = inf", {.Br = 2, .Bc = 2}, {.scale = fa::infinity});
  check_rejected("", shape, "scale = nan", {.Br = 2, .Bc = 2}, {.scale = fa::nan});
  for (const std::string name : {"q", "k", "v", "out", "m", "l"}) check_rejected(name, shape, name + " has ");
  Operands operands(fa::make_inputs(shape), shape);
  fa::check_rejects([&] { operands.absorb({}, {.Br = 2, .Bc = 2}, -1, 1); }, "first_tile = -1");
  operands.shape.Nq = -1;
  fa::check_rejects([&] { operands.initialize(); }, "Nq = -1");
  check_unwritten(operands);
}

// Without a key, nothing is launched for them but the empty state: the emulator would take long for the rest.
inline void check_many_heads() {
  for (const fa::Shape& shape : {fa::Shape{.H = 65535, .Nk = 0}, {.B = 65537, .Nk = 0}}) {
    CAPTURE(shape);
    check_state(run(fa::make_inputs(shape), shape, {}, {.Br = 1, .Bc = 1}),
                exact_state(fa::make_inputs(shape), shape, {}, 0), shape);
  }
}

}  // namespace support
