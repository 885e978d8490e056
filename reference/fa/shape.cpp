#include "fa/shape.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

namespace fa {
namespace {

template <class Value>
[[noreturn]] void reject(std::string_view name, Value value, std::string_view allowed) {
  std::ostringstream message;
  message << name << " = " << value << ": must be " << allowed;
  throw std::invalid_argument(message.str());
}

constexpr Index largest_extent = std::numeric_limits<std::int32_t>::max();
constexpr Index largest_tile = Index{1} << 24;

void require_between(std::string_view name, Index value, Index least, Index most) {
  if (value < least) reject(name, value, "at least " + std::to_string(least));
  if (value > most) reject(name, value, "at most " + std::to_string(most));
}

// Whether a · b · ... , in bytes of the widest element (a double, in the oracle), can be counted with an Index.
bool countable(std::initializer_list<Index> extents) {
  Index limit = std::numeric_limits<Index>::max() / Index{sizeof(double)};
  for (const Index extent : extents) {
    if (extent == 0) return true;
    limit /= extent;
  }
  return limit > 0;
}

}  // namespace

float scale_of(const Shape& shape, const Options& options) {
  return options.scale.value_or(1.0f / std::sqrt(static_cast<float>(shape.D)));
}

void validate(const Shape& shape, const Options& options) {
  require_between("B", shape.B, 1, largest_extent);
  require_between("H", shape.H, 1, largest_extent);
  require_between("Nq", shape.Nq, 0, largest_extent);
  require_between("Nk", shape.Nk, 0, largest_extent);
  require_between("D", shape.D, 1, largest_extent);
  if (!countable({shape.B, shape.H, shape.Nq, shape.D}) || !countable({shape.B, shape.H, shape.Nk, shape.D}) ||
      !countable({shape.B, shape.H, shape.Nq, shape.Nk})) {
    std::ostringstream message;
    message << "B, H, Nq, Nk, D = " << shape.B << ", " << shape.H << ", " << shape.Nq << ", " << shape.Nk << ", "
            << shape.D << ": an operand must have fewer than 2^63 bytes";
    throw std::invalid_argument(message.str());
  }
  if (options.scale && !std::isfinite(*options.scale)) reject("scale", *options.scale, "finite");
}

void validate(const Tiles& tiles) {
  require_between("Br", tiles.Br, 1, largest_tile);
  require_between("Bc", tiles.Bc, 1, largest_tile);
}

void require_operand(std::string_view name, const void* pointer, Index elements) {
  if (pointer != nullptr || elements == 0) return;
  throw std::invalid_argument(std::string(name) + " = null: must point to " + std::to_string(elements) + " elements");
}

void require_elements(std::string_view name, Index elements, Index required) {
  if (elements == required) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(elements) + " elements: must have " +
                              std::to_string(required));
}

}  // namespace fa
