// The two formats of half precision: fa::half (fp16: 5 bits of exponent, 10 of fraction) and fa::bfloat16 (8 and 7).
// With FA_CUDA they are CUDA's own types, else Eigen's. All that the course asks of them, on the host and in kernels:
//
//   float(x)   exact
//   T(f)       the nearest number of that format, ties to even; beyond the largest one, infinity
//
// Arithmetic is done in float.

#pragma once

#ifdef FA_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include <Eigen/Core>
#endif

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fa/poison.h"

namespace fa {

#ifdef FA_CUDA
using half = __half;
using bfloat16 = __nv_bfloat16;
#else
using half = Eigen::half;
using bfloat16 = Eigen::bfloat16;
#endif

template <class T>
concept HalfPrecision = std::same_as<T, half> || std::same_as<T, bfloat16>;

// u: half the distance from 1 to the next number, so a rounded number is off by at most u times itself.
template <HalfPrecision T>
inline constexpr double unit_roundoff = std::same_as<T, half> ? 0x1p-11 : 0x1p-8;

template <HalfPrecision T>
std::vector<T> rounded(std::span<const float> values) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = T(values[i]);
  return result;
}

// Poison stays poison.
template <HalfPrecision T>
std::vector<float> widened(std::span<const T> values) {
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = is_poison(values[i]) ? poison() : float(values[i]);
  return result;
}

}  // namespace fa
