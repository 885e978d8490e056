// fa::DeviceScratch: working memory in HBM that is metered, as fa::Scratch is on the CPU. A launcher takes all that it
// needs beyond its operands from here; the peak is what the memory-vs-N figures show.

#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "fa/shape.h"

namespace fa {

template <class T>
class DeviceBuffer;  // of simt/buffer.h or cuda/buffer.h

// The name of a buffer that was moved from, for messages.
inline const std::string moved_from = "(moved from)";

class DeviceScratch {
 public:
  static constexpr Index unlimited = std::numeric_limits<Index>::max();

  // `name` stands in messages. `capacity` is in bytes; an allocation that would pass it throws.
  // Throws std::invalid_argument for a negative capacity.
  explicit DeviceScratch(std::string name = "scratch", Index capacity = unlimited)
      : name_(std::move(name)), capacity_(capacity) {
    if (capacity >= 0) return;
    throw std::invalid_argument(name_ + ": capacity = " + std::to_string(capacity) + ": must be at least 0");
  }
  DeviceScratch(const DeviceScratch&) = delete;  // buffers point back to where they came from
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  // `count` elements, given back when the buffer, or the one that it was moved to, is destroyed. The scratch must live
  // longer. Throws std::invalid_argument for a negative count; std::length_error, naming the buffer and both sizes,
  // when the capacity does not suffice; DeviceError when the device's memory does not.
  template <class T>
  DeviceBuffer<T> allocate(const std::string& buffer_name, Index count) {
    require_room(buffer_name, count, Index{sizeof(T)});
    DeviceBuffer<T> buffer(buffer_name, count);
    buffer.lease_ = Lease(*this, buffer.bytes());  // not before: what the device refused was never in use
    return buffer;
  }

  Index bytes_in_use() const { return in_use_; }
  Index peak_bytes() const { return peak_; }    // the most that was in use at once since the last reset_peak
  Index total_bytes() const { return total_; }  // all that was ever taken, given back or not
  void reset_peak() { peak_ = in_use_; }
  Index capacity() const { return capacity_; }

  // Bytes that are in use as long as it lives. A DeviceBuffer holds one, declared before its memory, so that it is
  // destroyed after it; and names DeviceScratch as a friend. Default: no bytes, of no scratch.
  class Lease {
   public:
    Lease() = default;
    Lease(DeviceScratch& scratch, Index bytes) noexcept : scratch_(&scratch), bytes_(bytes) {
      scratch.in_use_ += bytes;
      scratch.total_ += bytes;
      scratch.peak_ = std::max(scratch.peak_, scratch.in_use_);
    }
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      Lease(std::move(other)).swap(*this);  // what this one held is given back here
      return *this;
    }
    ~Lease() {
      if (scratch_ != nullptr) scratch_->in_use_ -= bytes_;
    }

   private:
    void swap(Lease& other) noexcept {
      std::swap(scratch_, other.scratch_);
      std::swap(bytes_, other.bytes_);
    }

    DeviceScratch* scratch_ = nullptr;
    Index bytes_ = 0;
  };

 private:
  void require_room(const std::string& buffer_name, Index count, Index element_bytes) const {
    if (count < 0) {
      throw std::invalid_argument(name_ + ": '" + buffer_name + "' of " + std::to_string(count) +
                                  " elements: must be at least 0");
    }
    const Index left = capacity_ - in_use_;
    if (count > left / element_bytes) {
      throw std::length_error(name_ + ": '" + buffer_name + "' needs " + std::to_string(count) + " elements of " +
                              std::to_string(element_bytes) + " bytes, but " + std::to_string(left) + " of " +
                              std::to_string(capacity_) + " bytes are left");
    }
  }

  std::string name_;
  Index capacity_ = unlimited;
  Index in_use_ = 0;
  Index peak_ = 0;
  Index total_ = 0;
};

}  // namespace fa
