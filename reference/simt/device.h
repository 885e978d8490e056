// The course's CUDA on the CPU: see fa/device.h for the vocabulary and README.md for how it works.
//
// The names live in an inline namespace: Part I has an fa::hbm of its own (fa/hbm.h), and one program may hold both.

#pragma once

#include <chrono>

#include "fa/device_info.h"
#include "fa/todo.h"
#include "simt/atomics.h"
#include "simt/buffer.h"
#include "simt/fault.h"
#include "simt/hbm.h"
#include "simt/keywords.h"
#include "simt/launch.h"
#include "simt/meter.h"
#include "simt/shared.h"
#include "simt/warp.h"

namespace fa {
inline namespace emulated {

// Time on the CPU: it says how long the emulator takes, and nothing about a GPU.
class DeviceTimer {
 public:
  void start() { started_ = std::chrono::steady_clock::now(); }
  double stop() { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }

 private:
  std::chrono::steady_clock::time_point started_{};
};

}  // namespace emulated
}  // namespace fa
