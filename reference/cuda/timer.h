// fa::DeviceTimer on a GPU: CUDA events, so that it measures the device and not the launch.

#pragma once

struct CUevent_st;

namespace fa {

class DeviceTimer {
 public:
  DeviceTimer();
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  void start();

  // Seconds that the device took from start() to here. Waits for it; throws DeviceError if a kernel in between failed.
  double stop();

 private:
  CUevent_st* begin_ = nullptr;
  CUevent_st* end_ = nullptr;
};

}  // namespace fa
