#include "cuda/buffer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "cuda/check.h"
#include "cuda/launch.h"
#include "fa/device_error.h"
#include "fa/device_info.h"

namespace fa::detail {
namespace {

constexpr cudaStream_t default_stream = nullptr;

// Memory comes from CUDA's pool: to take and to give back is then an entry in the stream, and nobody waits. The pool
// keeps what is given back, so a benchmark that takes the same scratch in each round pays for it once.
void keep_given_back_memory() {
  device();  // throws when there is none
  int current = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, current), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
}

Index bytes_taken = 0;  // ever, by all buffers

}  // namespace

DeviceMemory::DeviceMemory(std::string name, Index count, Index element_bytes)
    : name_(std::move(name)), count_(count), element_bytes_(element_bytes) {
  if (count < 0) {
    throw std::invalid_argument(name_ + ": count = " + std::to_string(count) + ": must be at least 0");
  }
  if (count == 0) return;
  const std::string what = name_ + ", " + std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                           " bytes, does not fit into the device's memory";
  if (count > std::numeric_limits<Index>::max() / element_bytes) throw DeviceError(what);

  static const bool prepared = (keep_given_back_memory(), true);
  static_cast<void>(prepared);
  const cudaError_t error = cudaMallocAsync(&data_, static_cast<std::size_t>(bytes()), default_stream);
  if (error == cudaErrorMemoryAllocation) throw DeviceError(what + ": " + text_of(error));
  check(error, "cudaMallocAsync of " + name_);
  bytes_taken += bytes();
}

DeviceMemory::~DeviceMemory() {
  // An error here was reported by what caused it; it must not be left for the next launch to be blamed.
  if (data_ != nullptr && cudaFreeAsync(data_, default_stream) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void DeviceMemory::swap(DeviceMemory& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  std::swap(element_bytes_, other.element_bytes_);
}

void DeviceMemory::fill(const void* element) {
  if (count_ == 0 || !synchronous_launches()) return;
  check(cudaMemcpy(data_, element, static_cast<std::size_t>(element_bytes_), cudaMemcpyHostToDevice), "cudaMemcpy");
  char* const first = static_cast<char*>(data_);
  for (Index filled = 1; filled < count_; filled *= 2) {  // what is filled is copied behind itself
    const Index more = std::min(filled, count_ - filled) * element_bytes_;
    check(cudaMemcpy(first + filled * element_bytes_, first, static_cast<std::size_t>(more), cudaMemcpyDeviceToDevice),
          "cudaMemcpy");
  }
}

void DeviceMemory::require_range(Index first, Index count) const {
  if (first >= 0 && count >= 0 && count <= count_ - first) return;
  throw std::out_of_range(name_ + " has " + std::to_string(count_) + " elements: cannot copy " + std::to_string(count) +
                          ", from element " + std::to_string(first) + " on");
}

void DeviceMemory::copy_from_host(const void* values, Index first, Index count) {
  require_range(first, count);
  if (count == 0) return;
  check(cudaMemcpy(static_cast<char*>(data_) + first * element_bytes_, values,
                   static_cast<std::size_t>(count * element_bytes_), cudaMemcpyHostToDevice),
        "cudaMemcpy to " + name_);
}

void DeviceMemory::copy_to_host(void* values, Index first, Index count) const {
  require_range(first, count);
  if (count == 0) return;
  check(cudaMemcpy(values, static_cast<const char*>(data_) + first * element_bytes_,
                   static_cast<std::size_t>(count * element_bytes_), cudaMemcpyDeviceToHost),
        "cudaMemcpy from " + name_);
}

}  // namespace fa::detail

fa::Index fa::device_bytes_taken() { return detail::bytes_taken; }
