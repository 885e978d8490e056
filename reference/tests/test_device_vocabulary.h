// The kernels of test_device_vocabulary.cpp, behind functions that the host compiler can call.

#pragma once

#include "fa/device.h"
#include "fa/half.h"

namespace fa::tests {

// out[e] = who wrote it: block (x, y), thread x.
struct Writer {
  int block_x, block_y, thread;
};
void write_who(DeviceBuffer<Writer>& out, const LaunchShape& shape);

// out = the elements of `in` in reverse order, through dynamic shared memory: a matrix of `rows` rows and an array of 5
// doubles before it.
void reverse_through_dynamic_shared(const DeviceBuffer<float>& in, DeviceBuffer<float>& out, int rows);

// The same through static arrays of 1, 2 and 3 dimensions, one after another. 24 elements.
void reverse_through_static_shared(const DeviceBuffer<float>& in, DeviceBuffer<float>& out);

// Adds 1 to counter[0] in each thread.
void count_threads(DeviceBuffer<int>& counter, const LaunchShape& shape);

// Holds 4000 bytes of static shared memory, and asks for so many more.
void take_static_and_dynamic(DeviceBuffer<float>& out, Index shared_bytes);

// rounded = T(in), widened = float(rounded), computed by the device. T: half or bfloat16.
template <class T>
void round_and_widen(const DeviceBuffer<float>& in, DeviceBuffer<T>& rounded, DeviceBuffer<float>& widened);

// Two parts of an exercise: comes to the first if reach > 0, to the second if reach < 0; else out = 7, 7.
void meet_todo(DeviceBuffer<int>& out, int reach);

}  // namespace fa::tests
