// fa::DeviceMeter: the bytes that launches move through HBM while it lives.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa/byte_counts.h"

namespace fa {
inline namespace emulated {

inline constexpr bool counts_bytes = true;

class DeviceMeter {
 public:
  DeviceMeter();  // counts begin here
  ~DeviceMeter();
  DeviceMeter(const DeviceMeter&) = delete;  // launches know its address
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  Traffic total() const;
  Traffic of(std::string_view buffer) const;     // by its name; nothing counted: zero
  std::vector<BufferTraffic> by_buffer() const;  // buffers of one name are added up
  const std::vector<LaunchRecord>& launches() const { return launches_; }
  Index read_sectors() const;
  Index written_sectors() const;

  void add(const LaunchRecord& launch) { launches_.push_back(launch); }  // for the emulator

 private:
  std::vector<LaunchRecord> launches_;
};

}  // namespace emulated

namespace simt {
// Gives a launch to all meters that live.
void publish(const LaunchRecord& launch);
}  // namespace simt

}  // namespace fa
