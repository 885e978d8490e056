// What the device is: the GPU that kernels run on, or the emulator.

#pragma once

#include <string>

#include "fa/shape.h"

namespace fa {

struct DeviceInfo {
  std::string name;                  // "NVIDIA H200"
  int multiprocessors = 0;           // SMs
  Index shared_bytes_per_block = 0;  // the most that one block may ask for, static and dynamic shared memory together
  Index l2_bytes = 0;                // the cache between the SMs and HBM
  Index memory_bytes = 0;            // HBM
  bool emulated = false;             // times say nothing about a GPU then

  // Of a GPU only; zero on the emulator.
  int compute_capability = 0;  // 90 for sm_90
  int cuda_runtime = 0;        // 13000 for CUDA 13.0: what the program was built with
  int cuda_driver = 0;         // the newest CUDA that the installed driver supports
};

// The device that launches go to. Throws DeviceError when there is none.
const DeviceInfo& device();

// Bytes that all DeviceBuffers of this program ever took, given back or not: between two calls, what a function took.
Index device_bytes_taken();

// Whether there is a device, without throwing. If not, `reason` receives why.
bool device_available(std::string* reason = nullptr);

}  // namespace fa
