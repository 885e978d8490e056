// Shared memory on a GPU: arrays of it with the same face as on the emulator, and nothing behind it. Kernels only.

#pragma once

#ifdef __CUDACC__

#include "fa/launch_shape.h"

namespace fa {

// A row of elements in shared memory: row[i]. Passed by value.
template <class T>
struct SharedArray {
  T* first;
  __device__ T& operator[](int index) const { return first[index]; }
};

// Rows one after another: matrix[r][c]. Passed by value.
template <class T>
struct SharedMatrix {
  T* first;
  int columns;
  __device__ SharedArray<T> operator[](int row) const { return {first + row * columns}; }
};

// `__shared__ fa::shared<float, Rows, Columns> tile;` with 1 to 3 extents. With one index, what is left is a matrix, an
// array or an element.
template <class T, int... Extents>
struct shared;

template <class T, int Count>
struct shared<T, Count> {
  T elements[Count];
  __device__ T& operator[](int index) { return elements[index]; }
};

template <class T, int Rows, int Columns>
struct shared<T, Rows, Columns> {
  T elements[Rows][Columns];
  __device__ SharedArray<T> operator[](int row) { return {elements[row]}; }
};

template <class T, int Count, int Rows, int Columns>
struct shared<T, Count, Rows, Columns> {
  T elements[Count][Rows][Columns];
  __device__ SharedMatrix<T> operator[](int index) { return {elements[index][0], Columns}; }
};

// Deals out the dynamic shared memory of the block, from the front. One for each kernel: a second one would deal out
// the same bytes again. The names are for the emulator's messages.
class DynamicShared {
 public:
  template <class T>
  __device__ SharedArray<T> array(const char*, int elements) {
    return {take<T>(elements)};
  }
  template <class T>
  __device__ SharedMatrix<T> matrix(const char*, int rows, int columns) {
    return {take<T>(rows * columns), columns};
  }

 private:
  template <class T>
  __device__ T* take(int elements) {
    extern __shared__ __align__(32) unsigned char fa_dynamic_shared_memory[];
    T* const first = reinterpret_cast<T*>(fa_dynamic_shared_memory + offset_);
    offset_ += static_cast<int>(shared_bytes<T>(elements));
    return first;
  }

  int offset_ = 0;
};

}  // namespace fa

#endif
