// What kernels on tensor cores use, on the emulator: see fa/tensor_core.h.

#pragma once

#include <cmath>

#include "simt/async_copy.h"
#include "simt/mma.h"
#include "simt/vector.h"
#include "simt/wmma.h"

namespace fa {
inline namespace emulated {

inline float exp2_fast(float x) {
  const float power = std::exp2(x);
  return power < 0x1p-126f ? 0.0f : power;  // a GPU's fast instruction has no smaller numbers
}

}  // namespace emulated
}  // namespace fa
