// fa::Scratch: working memory that is metered. A lesson's function takes all that it needs beyond its operands from
// here; the peak is what the memory-vs-N figures show.

#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {

class Scratch {
 public:
  static constexpr Index unlimited = std::numeric_limits<Index>::max();

  // `name` stands in messages ("SRAM"). `capacity` is in bytes; an allocation that would pass it throws.
  // Throws std::invalid_argument for a negative capacity.
  explicit Scratch(std::string name = "scratch", Index capacity = unlimited)
      : name_(std::move(name)), capacity_(capacity) {
    if (capacity >= 0) return;
    throw std::invalid_argument(name_ + ": capacity = " + std::to_string(capacity) + ": must be at least 0");
  }
  Scratch(const Scratch&) = delete;  // arrays point back to where they came from
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  class Array;

  // `count` elements, given back when the array goes out of scope. Floats start as poison (a NaN), so that a value
  // which nobody wrote shows in the result. Throws std::invalid_argument for a negative count and std::length_error,
  // naming the array and both sizes, when the capacity does not suffice.
  template <class T>
  Array<T> allocate(std::string_view array_name, Index count) {
    return Array<T>(*this, array_name, count);
  }

  Index bytes_in_use() const { return in_use_; }
  Index peak_bytes() const { return peak_; }    // the most that was in use at once since the last reset_peak
  Index total_bytes() const { return total_; }  // all that was ever taken, given back or not
  void reset_peak() { peak_ = in_use_; }
  Index capacity() const { return capacity_; }

 private:
  std::size_t checked(std::string_view array_name, Index count, Index element_bytes) const;
  void take(Index bytes) noexcept {
    in_use_ += bytes;
    total_ += bytes;
    peak_ = std::max(peak_, in_use_);
  }
  void give_back(Index bytes) noexcept { in_use_ -= bytes; }

  std::string name_;
  Index capacity_ = unlimited;
  Index in_use_ = 0;
  Index peak_ = 0;
  Index total_ = 0;
};

template <class T>
class Scratch::Array {
 public:
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { scratch_.give_back(bytes()); }

  T& operator[](Index index) { return elements_[static_cast<std::size_t>(index)]; }
  const T& operator[](Index index) const { return elements_[static_cast<std::size_t>(index)]; }
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  std::span<T> span() { return elements_; }
  std::span<const T> span() const { return elements_; }
  Index size() const { return static_cast<Index>(elements_.size()); }
  Index bytes() const { return size() * Index{sizeof(T)}; }

 private:
  friend class Scratch;
  Array(Scratch& scratch, std::string_view array_name, Index count)
      : scratch_(scratch), elements_(scratch.checked(array_name, count, Index{sizeof(T)}), unwritten<T>()) {
    scratch_.take(bytes());  // not before: what std::bad_alloc refused was never in use
  }

  Scratch& scratch_;
  std::vector<T> elements_;
};

// `count`, if that many elements may be taken.
inline std::size_t Scratch::checked(std::string_view array_name, Index count, Index element_bytes) const {
  if (count < 0) {
    throw std::invalid_argument(name_ + ": '" + std::string(array_name) + "' of " + std::to_string(count) +
                                " elements: must be at least 0");
  }
  const Index left = capacity_ - in_use_;
  if (count > left / element_bytes) {
    throw std::length_error(name_ + ": '" + std::string(array_name) + "' needs " + std::to_string(count) +
                            " elements of " + std::to_string(element_bytes) + " bytes, but " + std::to_string(left) +
                            " of " + std::to_string(capacity_) + " bytes are left");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace fa
