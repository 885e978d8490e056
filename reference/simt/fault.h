// What the emulator says when a kernel does what it must not.

#pragma once

#include <string>

#include "fa/device_error.h"
#include "fa/place.h"
#include "simt/shadow.h"
#include "simt/thread.h"

namespace fa {
inline namespace emulated {

// A kernel was stopped: an access out of bounds, a race, a barrier that not all threads reach, ... The message names
// what, the kernel, block and thread, and the buffer and index.
struct KernelFault : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace emulated

namespace simt {

std::string text(const uint3& index);              // "(5, 0, 0)"
std::string text_of_thread(const Thread& thread);  // "thread (5, 0, 0)"

// A line for each of two threads: where it waits, or that it has come to its end.
std::string text_of_states(const Thread& a, const Thread& b);

// `what`, then where `thread` is, then `more` (whole lines, or empty).
std::string fault_message(const Thread& thread, const std::string& what, const std::string& more = {});

// The same for an access to `element` that is not in order with an earlier one.
std::string race_message(const Thread& thread, const std::string& element, const Conflict& conflict, Access access);

// Throws KernelFault with the fault_message.
[[noreturn]] void stop(const Thread& thread, const std::string& what, const std::string& more = {});

}  // namespace simt
}  // namespace fa
