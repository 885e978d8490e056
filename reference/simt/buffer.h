// fa::DeviceBuffer<T>: memory of the device, owned by the host. On the emulator the device's memory is the host's, but
// only kernels reach it directly: the host copies, as it must with a GPU.

#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fa/device_error.h"
#include "fa/device_info.h"
#include "fa/device_scratch.h"
#include "fa/poison.h"
#include "simt/hbm.h"

namespace fa {

// One that was moved from is empty: no elements, data() a null pointer, and `moved_from` for its name.
template <class T>
class DeviceBuffer {
 public:
  // Poisoned, if T can be a NaN, else zero; a kernel that reads it before somebody writes is stopped.
  // Throws std::invalid_argument for a negative count and DeviceError when there is not enough memory.
  DeviceBuffer(std::string name, Index count) : DeviceBuffer(std::move(name), count, false) {
    std::fill_n(memory_.get(), count, unwritten<T>());
  }
  DeviceBuffer(std::string name, std::span<const T> values)
      : DeviceBuffer(std::move(name), static_cast<Index>(values.size()), true) {
    std::copy(values.begin(), values.end(), memory_.get());
  }
  DeviceBuffer(std::string name, const std::vector<T>& values)
      : DeviceBuffer(std::move(name), std::span<const T>(values)) {}

  DeviceBuffer(DeviceBuffer&&) noexcept = default;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept = default;

  hbm<T> data() { return buffer_ ? hbm<T>(buffer_.get()) : hbm<T>(); }
  hbm<const T> data() const { return buffer_ ? hbm<const T>(buffer_.get()) : hbm<const T>(); }
  Index size() const { return buffer_ ? buffer_->elements : 0; }
  Index bytes() const { return size() * Index{sizeof(T)}; }
  const std::string& name() const { return buffer_ ? buffer_->name : moved_from; }

  // Copies to the host. Throws std::out_of_range for a part that the buffer does not have.
  std::vector<T> to_host() const { return to_host(0, size()); }
  std::vector<T> to_host(Index first, Index count) const {
    require_part("to_host", first, count);
    return std::vector<T>(memory_.get() + first, memory_.get() + first + count);
  }
  void from_host(std::span<const T> values, Index first = 0) {
    require_part("from_host", first, static_cast<Index>(values.size()));
    if (values.empty()) return;
    std::copy(values.begin(), values.end(), memory_.get() + first);
    simt::mark_written(*buffer_, first, static_cast<Index>(values.size()));
  }

 private:
  friend class DeviceScratch;
  struct Detach {
    void operator()(simt::HbmBuffer* buffer) const { simt::detach(buffer); }
  };

  DeviceBuffer(std::string name, Index count, bool written) {
    if (count < 0) {
      throw std::invalid_argument(name + ": count = " + std::to_string(count) + ": must be at least 0");
    }
    const auto refuse = [&] {
      throw DeviceError(name + ", " + std::to_string(count) + " elements of " + std::to_string(sizeof(T)) +
                        " bytes, does not fit into the device's memory");
    };
    if (count > device().memory_bytes / Index{sizeof(T)}) refuse();
    try {
      memory_ = std::make_unique<T[]>(static_cast<std::size_t>(count));
      buffer_.reset(simt::attach(name, memory_.get(), count, Index{sizeof(T)}, written));
    } catch (const std::bad_alloc&) {
      refuse();
    }
  }
  void require_part(const char* call, Index first, Index count) const {
    if (first >= 0 && count >= 0 && first <= size() && count <= size() - first) return;
    throw std::out_of_range(name() + ": " + call + " of " + std::to_string(count) + " elements from " +
                            std::to_string(first) + ", of " + std::to_string(size()));
  }

  DeviceScratch::Lease lease_;
  std::unique_ptr<T[]> memory_;
  std::unique_ptr<simt::HbmBuffer, Detach> buffer_;
};

}  // namespace fa
