// What goes wrong on a device, a GPU or the emulated one. What is wrong with an argument of a function is a
// std::invalid_argument, as everywhere in the course.

#pragma once

#include <stdexcept>

namespace fa {

// There is no device, its memory is used up, a kernel failed, a call of CUDA's runtime failed.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A kernel did not start: the device cannot run it with this grid, block or shared memory.
struct LaunchError : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace fa
