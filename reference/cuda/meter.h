// fa::DeviceMeter on a GPU: it cannot count. Only the emulator does, so tests ask fa::counts_bytes first.

#pragma once

#include <stdexcept>
#include <string_view>
#include <vector>

#include "fa/byte_counts.h"

namespace fa {

inline constexpr bool counts_bytes = false;

class DeviceMeter {
 public:
  explicit DeviceMeter(Count = Count::bytes) {}
  DeviceMeter(const DeviceMeter&) = delete;
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  // All throw std::logic_error.
  Traffic total() const { reject(); }
  Traffic of(std::string_view) const { reject(); }
  std::vector<BufferTraffic> by_buffer() const { reject(); }
  const std::vector<LaunchRecord>& launches() const { reject(); }
  Index read_sectors() const { reject(); }
  Index written_sectors() const { reject(); }
  SharedTraffic shared_of(std::string_view) const { reject(); }
  SharedTraffic shared_total() const { reject(); }
  std::vector<SharedTraffic> by_array() const { reject(); }

 private:
  [[noreturn]] static void reject() {
    throw std::logic_error("DeviceMeter: a GPU does not count bytes; the emulator does, and ./course profile asks ncu");
  }
};

}  // namespace fa
