// The words of CUDA C++ that kernels use, for a C++ compiler. In a CUDA build, nvcc knows them itself.

#pragma once

#include <math.h>  // expf, fmaxf, isfinite, INFINITY, ...: on the CPU and on the GPU under the same names, in no namespace

#include <cmath>

#include "simt/call_site.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

// One array for each OS thread is one array for each block: the blocks of an OS thread run one after another.
#define __shared__ static thread_local
#define __constant__ static

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Who and where the running thread is. Set whenever another thread goes on, so a debugger can print them.
inline constinit thread_local uint3 threadIdx{}, blockIdx{};
inline constinit thread_local dim3 blockDim{}, gridDim{};
inline constexpr int warpSize = 32;

// Waits until every thread of the block is here.
void __syncthreads(fa::simt::CallSite site = fa::simt::CallSite::here());

// Waits until every thread of the warp that `mask` names is here; bit i is lane i.
void __syncwarp(unsigned mask = 0xffff'ffff, fa::simt::CallSite site = fa::simt::CallSite::here());

// Math that CUDA has and C++ has not, or under another name.
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float x, float y) { return x / y; }

// min and max are functions, one for each type, as in CUDA: so they take elements of shared memory, too. Of two floats,
// one of them NaN, they give the other.
#define FA_MIN_MAX(T, smaller, larger)       \
  inline T min(T a, T b) { return smaller; } \
  inline T max(T a, T b) { return larger; }
FA_MIN_MAX(float, std::fmin(a, b), std::fmax(a, b))
FA_MIN_MAX(double, std::fmin(a, b), std::fmax(a, b))
FA_MIN_MAX(int, b < a ? b : a, a < b ? b : a)
FA_MIN_MAX(unsigned, b < a ? b : a, a < b ? b : a)
FA_MIN_MAX(long, b < a ? b : a, a < b ? b : a)
FA_MIN_MAX(unsigned long, b < a ? b : a, a < b ? b : a)
FA_MIN_MAX(long long, b < a ? b : a, a < b ? b : a)
FA_MIN_MAX(unsigned long long, b < a ? b : a, a < b ? b : a)
#undef FA_MIN_MAX
