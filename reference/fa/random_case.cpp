#include "fa/random_case.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <stdexcept>

#include "fa/testing.h"

namespace fa {
namespace {

constexpr std::string_view kind_names[] = {"normal",       "outliers",      "large logits", "equal logits",
                                           "all negative", "infinite keys", "values of 1"};
constexpr std::optional<float> scales[] = {std::nullopt, 1.0f, 0.0f, -0.7f, 20.0f};
constexpr std::size_t fields = 12;
using Numbers = std::array<Index, fields>;  // in the order in which they are made smaller, then the seed

struct Field {
  std::string_view name;
  Range range;
};
std::array<Field, fields> fields_of(const CaseSpace& space) {
  return {{{"causal", {0, 1}},
           {"scale", {0, std::ssize(scales) - 1}},
           {"kind", {0, std::ssize(kind_names) - 1}},
           {"flaw", {0, space.flaws}},
           {"B", space.B},
           {"H", space.H},
           {"Nq", space.Nq},
           {"Nk", space.Nk},
           {"D", space.D},
           {"Br", space.Br},
           {"Bc", space.Bc},
           {"seed", {1, 9999}}}};
}

RandomCase unpacked(const Numbers& numbers) {
  const auto& [causal, scale, kind, flaw, B, H, Nq, Nk, D, Br, Bc, seed] = numbers;
  return {.options = {.causal = causal == 1, .scale = scales[scale]},
          .kind = CaseInputs(kind),
          .flaw = flaw,
          .shape = {.B = B, .H = H, .Nq = Nq, .Nk = Nk, .D = D},
          .tiles = {.Br = Br, .Bc = Bc},
          .seed = static_cast<std::uint64_t>(seed)};
}

Numbers packed(const RandomCase& one) {
  const auto& [B, H, Nq, Nk, D] = one.shape;
  Index scale = 0;
  while (scales[scale] != one.options.scale) ++scale;
  return {one.options.causal, scale,        Index(one.kind), one.flaw, B, H, Nq, Nk, D,
          one.tiles.Br,       one.tiles.Bc, Index(one.seed)};
}

// std::uniform_int_distribution may differ between standard libraries.
Index drawn(std::mt19937_64& bits, const Range& range) {
  const auto choices = static_cast<std::uint64_t>((range.most - range.least) / range.step + 1);
  return range.least + static_cast<Index>(bits() % choices) * range.step;
}

// Smaller values of a field, the smallest first.
std::vector<Index> smaller(Index value, const Range& range) {
  const Index steps = (value - range.least) / range.step;
  std::vector<Index> result;
  if (steps == 0) return result;
  for (const Index fewer : {Index{0}, steps / 2, steps - 1}) {
    const Index less = range.least + fewer * range.step;
    if (result.empty() || less > result.back()) result.push_back(less);
  }
  return result;
}

}  // namespace

Inputs RandomCase::inputs() const {
  constexpr InputKind same[] = {InputKind::normal, InputKind::outliers, InputKind::large_logits,
                                InputKind::equal_logits};
  const bool known = static_cast<std::size_t>(kind) < std::size(same);
  Inputs inputs = make_inputs(shape, known ? same[static_cast<std::size_t>(kind)] : InputKind::normal, seed);
  if (kind == CaseInputs::unit_values) inputs.v.assign(inputs.v.size(), 1.0f);
  if (kind == CaseInputs::all_negative || kind == CaseInputs::infinite_keys) {
    for (float& value : inputs.q) value = std::abs(value) + 0.5f;
  }
  if (kind == CaseInputs::all_negative) {
    for (float& value : inputs.k) value = -100.0f * (1.0f + std::abs(value));
  }
  if (kind == CaseInputs::infinite_keys) {
    std::mt19937_64 bits(seed);
    for (std::size_t first = 0; first < inputs.k.size(); first += static_cast<std::size_t>(shape.D)) {
      if (bits() % 3 == 0) inputs.k[first] = -infinity;
    }
  }
  return inputs;
}

RandomCase draw_case(std::mt19937_64& bits, const CaseSpace& space) {
  Numbers numbers{};
  const std::array<Field, fields> all = fields_of(space);
  for (std::size_t at = 0; at < fields; ++at) numbers[at] = drawn(bits, all[at].range);
  RandomCase one = unpacked(numbers);
  if (drawn(bits, {1, 8}) > 1) one.flaw = 0;
  return one;
}

std::vector<RandomCase> smaller_cases(const RandomCase& one, const CaseSpace& space) {
  std::vector<RandomCase> cases;
  const std::array<Field, fields> all = fields_of(space);
  const Numbers numbers = packed(one);
  for (std::size_t at = 0; at + 1 < fields; ++at) {  // not the seed
    for (const Index value : smaller(numbers[at], all[at].range)) {
      Numbers other = numbers;
      other[at] = value;
      cases.push_back(unpacked(other));
    }
  }
  return cases;
}

std::string numbers_of(const RandomCase& one) {
  std::string text;
  for (const Index number : packed(one)) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

RandomCase case_of(std::string_view numbers, const CaseSpace& space) {
  std::istringstream stream{std::string(numbers)};
  Numbers read{};
  const std::array<Field, fields> all = fields_of(space);
  for (std::size_t at = 0; at < fields; ++at) {
    const auto& [least, most, step] = all[at].range;
    if (stream >> read[at] && read[at] >= least && read[at] <= most && (read[at] - least) % step == 0) continue;
    throw std::invalid_argument("FA_RANDOM_CASE = " + std::string(numbers) + ": number " + std::to_string(at + 1) +
                                ", " + std::string(all[at].name) + ", must be from " + std::to_string(least) + " to " +
                                std::to_string(most) + (step > 1 ? " in steps of " + std::to_string(step) : ""));
  }
  if ((stream >> std::ws).eof()) return unpacked(read);
  throw std::invalid_argument("FA_RANDOM_CASE = " + std::string(numbers) + ": must be " + std::to_string(fields) +
                              " numbers");
}

std::string describe(const RandomCase& one, const CaseSpace& space) {
  std::ostringstream text;
  text << one.shape << ", " << one.options;
  if (space.Br.least < space.Br.most) text << ", Br=" << one.tiles.Br;
  if (space.Bc.least < space.Bc.most) text << ", Bc=" << one.tiles.Bc;
  text << ", inputs: " << kind_names[static_cast<std::size_t>(one.kind)] << ", seed " << one.seed;
  if (one.flaw > 0) text << ", to be rejected: flaw " << one.flaw;
  return text.str();
}

WrongArgument wrong_argument(const RandomCase& one, bool with_tiles) {
  WrongArgument wrong{one.shape, one.options, one.tiles, ""};
  const auto exchange = [&](const char* name, Index& value, Index bad) {
    value = bad;
    wrong.text = std::string(name) + " = " + std::to_string(bad);
  };
  const auto bad = -static_cast<Index>(one.seed / 10 % 3);  // 0, −1 or −2
  switch (one.seed % (with_tiles ? 8 : 6)) {
    case 0:
      exchange("B", wrong.shape.B, bad);
      break;
    case 1:
      exchange("H", wrong.shape.H, bad);
      break;
    case 2:
      exchange("Nq", wrong.shape.Nq, bad - 1);
      break;
    case 3:
      exchange("Nk", wrong.shape.Nk, bad - 1);
      break;
    case 4:
      exchange("D", wrong.shape.D, bad);
      break;
    case 5:
      wrong.options.scale = bad == 0 ? nan : bad == -1 ? infinity : -infinity;
      wrong.text = bad == 0 ? "scale = nan" : bad == -1 ? "scale = inf" : "scale = -inf";
      break;
    case 6:
      exchange("Br", wrong.tiles.Br, bad);
      break;
    default:
      exchange("Bc", wrong.tiles.Bc, bad);
  }
  return wrong;
}

}  // namespace fa
