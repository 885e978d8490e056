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
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {

// For tests: every array of floats stands between two guards of `elements` poisoned floats. If somebody wrote to one of
// them, that is reported when the array is given back. Without guards the heap breaks, at another place and without the
// array's name. Benchmarks, which measure time, have none.
struct ScratchGuards {
  Index elements = 0;
  void (*report)(const std::string& message) = nullptr;
};

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
  // naming the array and both sizes, when the capacity does not suffice. The name must outlive the array: a literal.
  template <class T>
  Array<T> allocate(std::string_view array_name, Index count) {
    return Array<T>(*this, array_name, count);
  }

  // For all arrays from now on. Returns what was there before.
  static ScratchGuards guard_arrays(const ScratchGuards& guards) { return std::exchange(guards_, guards); }

  Index bytes_in_use() const { return in_use_; }
  Index peak_bytes() const { return peak_; }    // the most that was in use at once since the last reset_peak
  Index total_bytes() const { return total_; }  // all that was ever taken, given back or not
  Index heap_bytes() const { return heap_; }    // the same, with the guards
  void reset_peak() { peak_ = in_use_; }
  Index capacity() const { return capacity_; }

 private:
  std::size_t checked(std::string_view array_name, Index count, Index element_bytes) const;
  void take(Index bytes, Index guard_bytes) noexcept {
    in_use_ += bytes;
    total_ += bytes;
    heap_ += bytes + guard_bytes;
    peak_ = std::max(peak_, in_use_);
  }
  void give_back(Index bytes) noexcept { in_use_ -= bytes; }

  std::string name_;
  Index capacity_ = unlimited;
  Index in_use_ = 0;
  Index peak_ = 0;
  Index total_ = 0;
  Index heap_ = 0;
  static inline ScratchGuards guards_;
};

template <class T>
class Scratch::Array {
 public:
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    check_guards();
    scratch_.give_back(bytes());
  }

  T& operator[](Index index) { return data()[index]; }
  const T& operator[](Index index) const { return data()[index]; }
  T* data() { return first_; }
  const T* data() const { return first_; }
  std::span<T> span() { return {data(), static_cast<std::size_t>(size())}; }
  std::span<const T> span() const { return {data(), static_cast<std::size_t>(size())}; }
  Index size() const { return static_cast<Index>(elements_.size()) - 2 * guards_.elements; }
  Index bytes() const { return size() * Index{sizeof(T)}; }

 private:
  friend class Scratch;
  Array(Scratch& scratch, std::string_view array_name, Index count)
      : scratch_(scratch),
        name_(array_name),
        elements_(scratch.checked(array_name, count, Index{sizeof(T)}) + 2 * std::size_t(guards_.elements),
                  unwritten<T>()) {
    // Not before: what std::bad_alloc refused was never in use.
    scratch_.take(bytes(), 2 * guards_.elements * Index{sizeof(T)});
  }

  void check_guards() const {
    if constexpr (std::is_same_v<T, float>) {
      const auto written = [](std::span<const T> guard) {
        return !std::ranges::all_of(guard, [](const T& element) { return is_poison(element); });
      };
      const auto count = static_cast<std::size_t>(guards_.elements);
      if (written(std::span(elements_).first(count))) report("before its beginning");
      if (written(std::span(elements_).last(count))) report("past its end");
    }
  }
  void report(const char* where) const {
    guards_.report(scratch_.name_ + ": '" + std::string(name_) + "' of " + std::to_string(size()) +
                   " elements was written " + where);
  }

  Scratch& scratch_;
  std::string_view name_;
  ScratchGuards guards_ = std::is_same_v<T, float> ? Scratch::guards_ : ScratchGuards{};
  std::vector<T> elements_;  // guard, array, guard
  T* first_ = elements_.data() + guards_.elements;
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
