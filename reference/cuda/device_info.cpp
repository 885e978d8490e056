#include "fa/device_info.h"

#include "cuda/check.h"
#include "fa/device_error.h"

namespace fa {
namespace {

using detail::check;

DeviceInfo look_up() {
  std::string reason;
  if (!device_available(&reason)) throw DeviceError("no CUDA device: " + reason);
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, current), "cudaGetDeviceProperties");

  DeviceInfo info;
  info.name = properties.name;
  info.multiprocessors = properties.multiProcessorCount;
  info.shared_bytes_per_block = static_cast<Index>(properties.sharedMemPerBlockOptin);
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<Index>(properties.totalGlobalMem);
  info.compute_capability = 10 * properties.major + properties.minor;
  check(cudaRuntimeGetVersion(&info.cuda_runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&info.cuda_driver), "cudaDriverGetVersion");
  return info;
}

}  // namespace

const DeviceInfo& device() {
  static const DeviceInfo info = look_up();
  return info;
}

bool device_available(std::string* reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return true;
  if (reason != nullptr) *reason = error == cudaSuccess ? "none was found" : detail::text_of(error);
  return false;
}

}  // namespace fa
