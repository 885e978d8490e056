// fa::DeviceBuffer<T> on a GPU: elements in HBM, given back when it goes out of scope.

#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/device_scratch.h"
#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {
namespace detail {

// The memory of a buffer, without the type of its elements. Move-only.
class DeviceMemory {
 public:
  // Throws std::invalid_argument for a negative count, DeviceError when the device has not so much left.
  DeviceMemory(std::string name, Index count, Index element_bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceMemory();

  const std::string& name() const { return name_; }
  void* data() const { return data_; }
  Index count() const { return count_; }
  Index bytes() const { return count_ * element_bytes_; }

  void fill(const void* element);  // into each place; not at all while launches do not wait (see cuda/launch.h)
  void require_range(Index first, Index count) const;  // else std::out_of_range
  void copy_from_host(const void* values, Index first, Index count);
  void copy_to_host(void* values, Index first, Index count) const;

 private:
  void swap(DeviceMemory& other) noexcept;

  std::string name_ = moved_from;
  void* data_ = nullptr;
  Index count_ = 0;
  Index element_bytes_ = 1;
};

}  // namespace detail

// One that was moved from is empty: no elements, data() a null pointer, and `moved_from` for its name.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "its bytes are copied between CPU and GPU");

 public:
  // `count` elements that nobody wrote yet: poison (fa/poison.h) or, of a type that has no NaN, T{}.
  DeviceBuffer(std::string name, Index count) : memory_(std::move(name), count, Index{sizeof(T)}) {
    const T nobody_wrote = unwritten<T>();
    memory_.fill(&nobody_wrote);
  }

  // A copy of `values`.
  DeviceBuffer(std::string name, std::span<const T> values)
      : memory_(std::move(name), static_cast<Index>(values.size()), Index{sizeof(T)}) {
    from_host(values);
  }
  DeviceBuffer(std::string name, const std::vector<T>& values)
      : DeviceBuffer(std::move(name), std::span<const T>(values)) {}

  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  Index size() const { return memory_.count(); }
  Index bytes() const { return memory_.bytes(); }
  const std::string& name() const { return memory_.name(); }

  // Copies, after all launches before. Both throw std::out_of_range for elements that are not there.
  std::vector<T> to_host() const { return to_host(0, size()); }
  std::vector<T> to_host(Index first, Index count) const {
    memory_.require_range(first, count);
    std::vector<T> values(static_cast<std::size_t>(count));
    memory_.copy_to_host(values.data(), first, count);
    return values;
  }
  void from_host(std::span<const T> values, Index first = 0) {
    memory_.copy_from_host(values.data(), first, static_cast<Index>(values.size()));
  }

 private:
  friend class DeviceScratch;

  DeviceScratch::Lease lease_;  // of the scratch that it came from; before memory_, which must go first
  detail::DeviceMemory memory_;
};

}  // namespace fa
