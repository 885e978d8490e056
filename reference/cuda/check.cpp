#include "cuda/check.h"

#include "fa/device_error.h"

namespace fa::detail {

void check(cudaError_t error, const std::string& call, Place where) {
  if (error == cudaSuccess) return;
  throw DeviceError(to_string(where) + ": " + call + ": " + text_of(error));
}

std::string text_of(cudaError_t error) {
  cudaGetLastError();
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

}  // namespace fa::detail
