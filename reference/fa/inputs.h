// Seeded inputs. The same seed gives the same numbers on every machine and with every compiler, and no input is
// constant or symmetric: those would accept swapped indices.
//
// With the environment variable FA_SEED=N, a whole number, all random inputs are others, by N and by the seed that the
// program names. ./course grade gives each student a number. A value that is not understood: std::invalid_argument.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fa/shape.h"

namespace fa {

enum class InputKind {
  normal,        // N(0, 1)
  outliers,      // N(0, 1) + N(0, 100) · Bernoulli(0.001), as in FlashAttention-3 (arXiv:2407.08608), section 4.3
  large_logits,  // scores of about ±1e4 at the default scale
  equal_logits,  // every key of a head is the same: weights are uniform, out is the mean of the visible values
  one_hot,       // the last visible key outweighs all others: out is its value exactly. Needs the default scale
};

inline constexpr InputKind all_input_kinds[] = {InputKind::normal, InputKind::outliers, InputKind::large_logits,
                                                InputKind::equal_logits, InputKind::one_hot};

std::string_view name_of(InputKind kind);

struct Inputs {
  std::vector<float> q;     // (B, H, Nq, D)
  std::vector<float> k, v;  // (B, H, Nk, D)
  std::vector<float> dout;  // (B, H, Nq, D), the gradient that enters the backward pass; always N(0, 1)
};

// Throws std::invalid_argument for a shape that fa::validate rejects.
Inputs make_inputs(const Shape& shape, InputKind kind = InputKind::normal, std::uint64_t seed = 1);

// `count` samples of N(0, 1).
std::vector<float> normal_values(Index count, std::uint64_t seed);

}  // namespace fa
