// fa::DeviceMeter: the bytes that launches move through HBM while it lives; on demand, the conflicts of shared memory's
// banks.

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
  explicit DeviceMeter(Count what = Count::bytes);  // counts begin here
  ~DeviceMeter();
  DeviceMeter(const DeviceMeter&) = delete;  // launches know its address
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  Traffic total() const;
  Traffic of(std::string_view buffer) const;     // by its name; nothing counted: zero
  std::vector<BufferTraffic> by_buffer() const;  // buffers of one name are added up
  const std::vector<LaunchRecord>& launches() const { return launches_; }
  Index read_sectors() const;
  Index written_sectors() const;

  // Throw std::logic_error if a launch did not count them: Count::banks does, and FA_SIMT_BANKS=on.
  SharedTraffic shared_of(std::string_view array) const;  // by its name; never touched: zero
  SharedTraffic shared_total() const;
  std::vector<SharedTraffic> by_array() const;  // arrays of one name are added up

  void add(const LaunchRecord& launch) { launches_.push_back(launch); }  // for the emulator
  bool wants_banks() const { return what_ == Count::banks; }

 private:
  Count what_;
  std::vector<LaunchRecord> launches_;
};

}  // namespace emulated

namespace simt {
// Gives a launch to all meters that live.
void publish(const LaunchRecord& launch);

// Whether one of them counts bank conflicts.
bool banks_wanted();

// `more` is added to the row of its name.
void add_up(std::vector<SharedTraffic>& rows, const SharedTraffic& more);
}  // namespace simt

}  // namespace fa
