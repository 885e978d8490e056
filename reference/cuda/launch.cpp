#include "cuda/launch.h"

#include "cuda/check.h"
#include "fa/device_error.h"
#include "fa/device_info.h"

namespace fa {
namespace {

bool synchronous = true;

// A kernel may use this much shared memory, static and dynamic, without asking for more.
constexpr Index unasked_shared_bytes = 48 * 1024;

}  // namespace

void set_synchronous_launches(bool on) { synchronous = on; }

namespace detail {

bool synchronous_launches() { return synchronous; }

Kernel::Kernel(const void* function, std::string name) : function_(function), name_(std::move(name)) {
  device();  // throws when there is none
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes of " + name_);
  static_shared_bytes_ = static_cast<Index>(attributes.sharedSizeBytes);
  allowed_dynamic_bytes_ = unasked_shared_bytes - static_shared_bytes_;
}

void Kernel::before_launch(const LaunchShape& shape) {
  validate(shape, name_, device());
  if (shape.shared_bytes <= allowed_dynamic_bytes_) return;
  if (shape.shared_bytes + static_shared_bytes_ > device().shared_bytes_per_block) {
    throw LaunchError(launch_at(shape.where) + "shared_bytes = " + std::to_string(shape.shared_bytes) + ", and " +
                      std::to_string(static_shared_bytes_) + " bytes of static shared memory: must be at most " +
                      std::to_string(device().shared_bytes_per_block) + " together");
  }
  const cudaError_t error = cudaFuncSetAttribute(function_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(shape.shared_bytes));
  if (error != cudaSuccess) throw LaunchError(launch_at(shape.where) + "cudaFuncSetAttribute: " + text_of(error));
  allowed_dynamic_bytes_ = shape.shared_bytes;
}

std::string Kernel::launch_at(const Place& where) const { return name_ + ", launched at " + to_string(where) + ": "; }

bool Kernel::after_launch(const LaunchShape& shape) {
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw LaunchError(launch_at(shape.where) + text_of(error) +
                      (synchronous ? "" : "; of this kernel, or of one that nobody awaited"));
  }
  if (!synchronous && ran_before_) return false;
  ran_before_ = true;
  error = cudaDeviceSynchronize();
  if (error != cudaSuccess) throw DeviceError(launch_at(shape.where) + text_of(error));
  return true;
}

}  // namespace detail
}  // namespace fa
