// The cases of random tests: drawn from a seed, made smaller, printed and read. See fa/property.h.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fa/inputs.h"
#include "fa/shape.h"

namespace fa {

enum class CaseInputs {
  normal,
  outliers,       // these four as in InputKind
  large_logits,   //
  equal_logits,   //
  all_negative,   // every score lies far below zero, if the scale is positive
  infinite_keys,  // some scores are −inf, if the scale is positive
  unit_values,    // v = 1, so out = 1 wherever a key is seen: rows of weights sum to 1
};

// What is asked of a function, in the numbers that a seed draws. They are made smaller in this order.
struct RandomCase {
  Options options = {};  // first no mask, then the default scale
  CaseInputs kind = CaseInputs::normal;
  Index flaw = 0;  // 0: it must be accepted. Others: it must be rejected, for a reason that the test numbers
  Shape shape = {};
  Tiles tiles = {};
  std::uint64_t seed = 1;  // of the inputs, and of what else a test chooses. Stays as it was drawn

  Inputs inputs() const;
};

// From `least` to `most`, in multiples of `step` above `least`.
struct Range {
  Index least = 1, most = 1, step = 1;
};

// The cases that a test draws from. A fixed extent is a range of one number.
struct CaseSpace {
  Range B{1, 2}, H{1, 3}, Nq{0, 24}, Nk{0, 24}, D{1, 9}, Br{}, Bc{};
  Index flaws = 0;  // one case of eight has a flaw, 1 to `flaws`
};

RandomCase draw_case(std::mt19937_64& bits, const CaseSpace& space);

// The cases that differ in one number, which is smaller: the least that is allowed, half, and one less.
std::vector<RandomCase> smaller_cases(const RandomCase& one, const CaseSpace& space);

// The same case as twelve numbers for FA_RANDOM_CASE; and in words, with tiles only where the space has several.
// case_of throws std::invalid_argument for a text that is no case of the space.
std::string numbers_of(const RandomCase& one);
RandomCase case_of(std::string_view numbers, const CaseSpace& space);
std::string describe(const RandomCase& one, const CaseSpace& space);

// A call with one argument of `one` exchanged for a wrong one, which its seed chooses; `text` must stand in the
// message.
struct WrongArgument {
  Shape shape;
  Options options;
  Tiles tiles;
  std::string text;
};
WrongArgument wrong_argument(const RandomCase& one, bool with_tiles);

}  // namespace fa
