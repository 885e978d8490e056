// The check that every call of CUDA's runtime goes through.

#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "fa/place.h"

namespace fa::detail {

// Throws DeviceError unless `error` is cudaSuccess:
//   "reference/cuda/timer.cpp:12: cudaEventCreate: out of memory (cudaErrorMemoryAllocation)"
void check(cudaError_t error, const std::string& call, Place where = Place::here());

// "out of memory (cudaErrorMemoryAllocation)". Clears the error, so that the next call does not report it again.
std::string text_of(cudaError_t error);

}  // namespace fa::detail
