// HBM as the emulator keeps it: buffers with a name, each element with its shadow. Launches count here, too.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fa/shape.h"
#include "simt/shadow.h"

namespace fa::simt {

// The elements of a DeviceBuffer. It outlives its memory, so that an access after that is a message, not a crash:
// pointers remember the generation that they were made for.
struct HbmBuffer {
  std::string name;
  void* data = nullptr;
  Index elements = 0;
  Index element_bytes = 0;
  std::uint32_t slot = 0;        // its place among all buffers
  std::uint32_t generation = 0;  // raised when the memory is given back
  std::vector<Shadow> shadows;   // one for each element; empty when nothing is checked

  // Blocks run on several cores: whoever touches element `at` and its shadow holds this lock meanwhile.
  std::atomic_flag& lock_of(Index at) { return locks[static_cast<std::size_t>(at) % kLocks].flag; }
  static constexpr std::size_t kLocks = 64;
  struct alignas(64) ElementLock {  // a cache line each, so that cores which hold different ones do not slow each other
    std::atomic_flag flag = {};
  };
  ElementLock locks[kLocks];
};

class Lock {
 public:
  explicit Lock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { flag_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

// A control block for new memory, and its return. The block is used again only after many others.
HbmBuffer* attach(std::string name, void* data, Index elements, Index element_bytes, bool written);
void detach(HbmBuffer* buffer);

// Marks elements [first, first + count) as written by the host.
void mark_written(HbmBuffer& buffer, Index first, Index count);

// How many slots there are.
std::size_t hbm_slots();

}  // namespace fa::simt
