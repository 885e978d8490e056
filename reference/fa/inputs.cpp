#include "fa/inputs.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace fa {
namespace {

// FA_SEED, or nothing.
std::optional<std::uint64_t> seed_from_environment() {
  const char* value = std::getenv("FA_SEED");
  if (value == nullptr || *value == '\0') return {};
  const std::string_view text(value);
  std::uint64_t seed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument("FA_SEED = '" + std::string(text) + "': must be a number from 0 to 2^64 - 1");
  }
  return seed;
}

// The seed that a test names, or with FA_SEED one that depends on both: a step of SplitMix64 (Steele, Lea and Flood
// 2014), which takes no two seeds to the same.
std::uint64_t mixed(std::uint64_t seed) {
  const std::optional<std::uint64_t> other = seed_from_environment();
  if (!other) return seed;
  std::uint64_t bits = *other + seed * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

// std::normal_distribution may differ between standard libraries; the bits of std::mt19937_64 may not.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(mixed(seed)) {}

  double uniform() { return (static_cast<double>(bits_() >> 12) + 0.5) * 0x1p-52; }  // in (0, 1), exact

  float operator()() {  // Box and Muller 1958
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
  }

 private:
  std::mt19937_64 bits_;
};

std::vector<float> samples(Index count, Normal& normal) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal();
  return values;
}

void add_outliers(std::vector<float>& values, Normal& normal) {
  for (float& value : values) {
    if (normal.uniform() < 0.001) value += 10.0f * normal();  // a variance of 100
  }
}

void multiply(std::vector<float>& values, float factor) {
  for (float& value : values) value *= factor;
}

// Row 0 of each head's keys, repeated.
void repeat_first_key(std::vector<float>& k, const Shape& shape) {
  for (Index row = 0; row < key_rows(shape); ++row) {
    const Index first = row / shape.Nk * shape.Nk;
    for (Index d = 0; d < shape.D; ++d) {
      k[static_cast<std::size_t>(row * shape.D + d)] = k[static_cast<std::size_t>(first * shape.D + d)];
    }
  }
}

// Scores of at least 200 (j + 1) at the default scale: the weights of neighbors differ by e²⁰⁰ or more, which no float
// can hold. Column 0 carries the score; the other columns of q are zero, those of k are arbitrary.
void point_at_last_visible_key(Inputs& inputs, const Shape& shape) {
  for (Index row = 0; row < query_rows(shape); ++row) {
    float& first = inputs.q[static_cast<std::size_t>(row * shape.D)];
    first = std::sqrt(static_cast<float>(shape.D)) * (1.0f + std::abs(first));
    for (Index d = 1; d < shape.D; ++d) inputs.q[static_cast<std::size_t>(row * shape.D + d)] = 0.0f;
  }
  for (Index row = 0; row < key_rows(shape); ++row) {
    inputs.k[static_cast<std::size_t>(row * shape.D)] = 200.0f * static_cast<float>(row % shape.Nk + 1);
  }
}

}  // namespace

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::normal:
      return "normal";
    case InputKind::outliers:
      return "outliers";
    case InputKind::large_logits:
      return "large logits";
    case InputKind::equal_logits:
      return "equal logits";
    case InputKind::one_hot:
      return "one-hot";
  }
  return "unknown";
}

Inputs make_inputs(const Shape& shape, InputKind kind, std::uint64_t seed) {
  validate(shape, {});
  Normal normal(seed);
  Inputs inputs;
  inputs.q = samples(query_elements(shape), normal);
  inputs.k = samples(key_elements(shape), normal);
  inputs.v = samples(key_elements(shape), normal);
  inputs.dout = samples(query_elements(shape), normal);
  switch (kind) {
    case InputKind::normal:
      break;
    case InputKind::outliers:
      for (std::vector<float>* operand : {&inputs.q, &inputs.k, &inputs.v}) add_outliers(*operand, normal);
      break;
    case InputKind::large_logits:  // q · k / sqrt(D) is about N(0, 1)
      multiply(inputs.q, 100.0f);
      multiply(inputs.k, 100.0f);
      break;
    case InputKind::equal_logits:
      repeat_first_key(inputs.k, shape);
      break;
    case InputKind::one_hot:
      point_at_last_visible_key(inputs, shape);
      break;
  }
  return inputs;
}

std::vector<float> normal_values(Index count, std::uint64_t seed) {
  Normal normal(seed);
  return samples(count, normal);
}

}  // namespace fa
