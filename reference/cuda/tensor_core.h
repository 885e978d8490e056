// Tensor cores, asynchronous copies and vector accesses on a GPU. fa/tensor_core.h tells what each word is. Kernels
// only.
//
// They need compute capability 8.0. A kernel that uses them must not be compiled for older GPUs: see LEAST_ARCHITECTURE
// in cmake/Lesson.cmake.

#pragma once

#ifdef __CUDACC__

#include <cuda_pipeline_primitives.h>
#include <mma.h>

#include "cuda/shared.h"
#include "fa/half.h"

namespace fa {

template <class T, int n>
struct alignas(n * sizeof(T)) Vector {
  static_assert(n * sizeof(T) == 4 || n * sizeof(T) == 8 || n * sizeof(T) == 16);
  T elements[n];
  __device__ T& operator[](int i) { return elements[i]; }
  __device__ const T& operator[](int i) const { return elements[i]; }
};

template <int n, class T>
__device__ Vector<std::remove_const_t<T>, n> load(T* address) {
  return *reinterpret_cast<const Vector<std::remove_const_t<T>, n>*>(address);
}

template <class T, int n>
__device__ void store(T* address, const Vector<T, n>& vector) {
  *reinterpret_cast<Vector<T, n>*>(address) = vector;
}

__device__ inline float exp2_fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

namespace mma {

template <class T>
struct A {
  unsigned pair[4];
};
template <class T>
struct B {
  unsigned pair[2];
};
struct Accumulator {
  float x[4];
};

template <HalfPrecision T>
__device__ unsigned pack(float low, float high) {
  unsigned pair;
  if constexpr (std::same_as<T, half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

// PTX ISA, "mma": .m16n8k16, .row.col, sums in .f32.
template <HalfPrecision T>
__device__ void multiply(Accumulator& c, const A<T>& a, const B<T>& b) {
#define FA_MMA(type)                                                         \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])               \
      : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]), "r"(b.pair[1]))
  if constexpr (std::same_as<T, half>) {
    FA_MMA("f16");
  } else {
    FA_MMA("bf16");
  }
#undef FA_MMA
}

namespace detail {

// PTX ISA, "ldmatrix": lane i names row i % 8 of matrix i / 8. volatile and "memory", so that it stays behind the
// barriers and waits before it.
__device__ inline void load_four(unsigned (&pair)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_four_transposed(unsigned (&pair)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
               : "r"(address)
               : "memory");
}

__device__ inline int lane() { return int(threadIdx.x) % 32; }

}  // namespace detail

template <HalfPrecision T>
__device__ void load(A<T>& a, SharedMatrix<T> tile, int row, int col) {
  const int lane = detail::lane();
  detail::load_four(a.pair, &tile[row + lane % 16][col + 8 * (lane / 16)]);
}

template <HalfPrecision T>
__device__ void load_columns(B<T> (&b)[2], SharedMatrix<T> tile, int row, int col) {
  const int lane = detail::lane();
  unsigned pair[4];
  detail::load_four(pair, &tile[row + lane % 8 + 8 * (lane / 16)][col + 8 * (lane / 8 % 2)]);
  b[0] = {pair[0], pair[1]};
  b[1] = {pair[2], pair[3]};
}

template <HalfPrecision T>
__device__ void load_rows(B<T> (&b)[2], SharedMatrix<T> tile, int row, int col) {
  const int lane = detail::lane();
  unsigned pair[4];
  detail::load_four_transposed(pair, &tile[row + lane % 16][col + 8 * (lane / 16)]);
  b[0] = {pair[0], pair[1]};
  b[1] = {pair[2], pair[3]};
}

}  // namespace mma
}  // namespace fa

#endif
