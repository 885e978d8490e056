// The kernels of test_device_tensor_core.cpp, behind functions that the host compiler can call. T: half or bfloat16.

#pragma once

#include "fa/device.h"
#include "fa/half.h"

namespace fa::tests {

// out = `in` with its groups of n elements in reverse order, through shared memory; a group is a vector. 256 elements.
template <class T, int n>
void reverse_vectors(const DeviceBuffer<T>& in, DeviceBuffer<T>& out);

// out = the first `valid` elements of `in`, then zeros: tiles of 256 elements, copied asynchronously, 16 bytes at a
// time; each is copied while the one before it is read.
template <class T>
void copy_tiles(const DeviceBuffer<T>& in, DeviceBuffer<T>& out, int valid);

// d = a b + c with wmma; all (16, 16). If `columns`, b is stored column by column. Each lane doubles what it holds of
// d.
template <class T>
void multiply_with_wmma(const DeviceBuffer<T>& a, const DeviceBuffer<T>& b, const DeviceBuffer<float>& c,
                        DeviceBuffer<float>& d, bool columns);

// The same with mma, without the doubling.
template <class T>
void multiply_with_mma(const DeviceBuffer<T>& a, const DeviceBuffer<T>& b, const DeviceBuffer<float>& c,
                       DeviceBuffer<float>& d, bool columns);

// out (3, 32, 4): the registers of each lane after load, load_columns and load_rows of a part of `in` (32, 32), from
// (row, col) on.
template <class T>
void load_for_mma(const DeviceBuffer<T>& in, DeviceBuffer<unsigned>& out, int row, int col);

// out = pack<T>(in[2 i], in[2 i + 1])
template <class T>
void pack_pairs(const DeviceBuffer<float>& in, DeviceBuffer<unsigned>& out);

void raise_two_to(const DeviceBuffer<float>& x, DeviceBuffer<float>& out);

}  // namespace fa::tests
