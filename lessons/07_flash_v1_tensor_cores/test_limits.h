// What both kernels of lesson 07 reject, and what they must accept.

#pragma once

#include <stdexcept>
#include <string>

#include "test_forward.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

inline fa::Index shared_memory_of(Kernel kernel, const fa::Tiles& tiles, fa::Index D) {
  return kernel == Kernel::exercise ? lesson::shared_memory_bytes(tiles, D) : lesson::shared_memory_bytes_mma(tiles, D);
}

// Every function that takes tiles must say how much they need and how much there is.
inline void check_tiles_too_large(const Subject& subject, const fa::Shape& shape, const fa::Tiles& tiles) {
  const std::string sizes = "need " + std::to_string(shared_memory_of(subject.kernel, tiles, shape.D)) +
                            " bytes, but a block has " + std::to_string(fa::device().shared_bytes_per_block) + " ";
  const auto says_both = Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(sizes));
  in_both_formats([&]<class T>() {
    Operands<T> operands(inputs_of<T>(shape), shape);
    CHECK_THROWS_MATCHES(operands.forward(subject.kernel, {}, tiles), std::length_error, says_both);
    if (subject.kernel == Kernel::exercise) {
      CHECK_THROWS_MATCHES(operands.absorb({}, tiles, 0, 1), std::length_error, says_both);
    }
    check_unwritten(operands);
  });
}

// The largest Bc with this Br that fits.
inline void check_largest_tiles(const Subject& subject) {
  const fa::Index step = subject.kernel == Kernel::exercise ? 16 : 64;
  const fa::Shape shape{.Nq = 33, .Nk = 150, .D = 128};
  fa::Tiles tiles{.Br = 32, .Bc = step};
  const auto fits = [&](fa::Index Bc) {
    return shared_memory_of(subject.kernel, {.Br = 32, .Bc = Bc}, shape.D) <= fa::device().shared_bytes_per_block;
  };
  while (fits(tiles.Bc + step)) tiles.Bc += step;
  check_both_masks<fa::half>(subject.kernel, inputs_of<fa::half>(shape), shape, tiles);
}

#ifndef FA_CUDA  // a GPU has what it has
// A device that has so many bytes beside what the tiles need.
inline void check_at_the_limit(const Subject& subject, fa::Index more) {
  const fa::Shape shape{.Nq = 20, .Nk = 23, .D = 64};
  const fa::Tiles tiles = subject.tiles[0];
  fa::simt::Settings settings = fa::simt::settings();
  settings.shared_bytes_per_block = shared_memory_of(subject.kernel, tiles, shape.D) + more;
  const fa::simt::With small_device(settings);
  if (more < 0) {
    check_tiles_too_large(subject, shape, tiles);
  } else {
    check_both_masks<fa::half>(subject.kernel, inputs_of<fa::half>(shape), shape, tiles);
  }
}
#endif

// `one_less` names an operand that lacks an element; every function that takes it must say so.
inline void check_rejected(const Subject& subject, const std::string& one_less, const fa::Shape& asked,
                           const std::string& text, const fa::Tiles& tiles, const fa::Options& options = {}) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 64};
  Operands<fa::half> operands(inputs_of<fa::half>(shape), shape, one_less);
  operands.shape = asked;
  fa::check_rejects([&] { operands.forward(subject.kernel, options, tiles); }, text);
  if (subject.kernel == Kernel::exercise) fa::check_rejects([&] { operands.absorb(options, tiles, 0, 1); }, text);
  check_unwritten(operands);
}

inline void check_rejections(const Subject& subject, fa::Index most_Br) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 64};
  const fa::Tiles right = subject.tiles[0];
  run<fa::half>(subject.kernel, inputs_of<fa::half>(shape), shape, {}, right);  // what is right is not rejected
  for (const fa::Index Br : {fa::Index{-16}, fa::Index{0}, fa::Index{8}, fa::Index{24}, most_Br + 16}) {
    check_rejected(subject, "", shape, "Br = " + std::to_string(Br), {.Br = Br, .Bc = right.Bc});
  }
  for (const fa::Index Bc : {-right.Bc, fa::Index{0}, fa::Index{8}, right.Bc + 8}) {
    check_rejected(subject, "", shape, "Bc = " + std::to_string(Bc), {.Br = right.Br, .Bc = Bc});
  }
  for (const fa::Index D : {0, 1, 32, 63, 96, 256}) {
    check_rejected(subject, "", {.Nq = 2, .Nk = 3, .D = D}, "D = " + std::to_string(D), right);
  }
  check_rejected(subject, "", {.Nq = 2, .Nk = -3, .D = 64}, "Nk = -3", right);
  check_rejected(subject, "", {.H = 65536, .Nq = 2, .Nk = 3, .D = 64}, "H = 65536", right);
  check_rejected(subject, "", shape, "scale = inf", right, {.scale = fa::infinity});
  check_rejected(subject, "", shape, "scale = nan", right, {.scale = fa::nan});
  for (const std::string name : {"q", "k", "v", "out", "partial", "m", "l"}) {
    check_rejected(subject, name, shape, name + " has ", right);
  }
  if (subject.kernel == Kernel::given) return;
  Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
  fa::check_rejects([&] { operands.absorb({}, right, -1, 1); }, "first_tile = -1");
  check_unwritten(operands);
}

#ifdef FA_CUDA
// The emulator would take long for so many blocks.
inline void check_many_heads(const Subject& subject) {
  for (const fa::Shape& shape : {fa::Shape{.H = 65535, .Nk = 0, .D = 64}, {.B = 65537, .Nk = 0, .D = 64}}) {
    CAPTURE(shape);
    const Result got = run<fa::half>(subject.kernel, inputs_of<fa::half>(shape), shape, {}, subject.tiles[0]);
    CHECK(got.out == std::vector<float>(got.out.size(), 0.0f));
    CHECK(got.m == std::vector<float>(got.m.size(), -fa::infinity));
    CHECK(got.l == std::vector<float>(got.l.size(), 0.0f));
  }
}
#endif

}  // namespace support
