#include "cuda/timer.h"

#include "cuda/check.h"

namespace fa {

using detail::check;

DeviceTimer::DeviceTimer() {
  check(cudaEventCreate(&begin_), "cudaEventCreate");
  check(cudaEventCreate(&end_), "cudaEventCreate");
}

DeviceTimer::~DeviceTimer() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

void DeviceTimer::start() { check(cudaEventRecord(begin_), "cudaEventRecord"); }

double DeviceTimer::stop() {
  check(cudaEventRecord(end_), "cudaEventRecord");
  check(cudaEventSynchronize(end_), "cudaEventSynchronize");
  float milliseconds = 0.0f;
  check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
  return double(milliseconds) * 1e-3;
}

}  // namespace fa
