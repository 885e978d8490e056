// A thread of a block, as the emulator keeps it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fa/shape.h"
#include "simt/call_site.h"
#include "simt/keywords.h"

namespace fa::simt {

class Block;
class Fiber;
struct SharedStorage;
struct Warp;

inline constexpr std::uint32_t kWarp = 32;  // threads of a warp

// When something happened: in which block, of all that ever ran (its serial number), after how many of its barriers.
constexpr std::uint64_t time_of(std::uint32_t block_serial, std::uint32_t epoch) {
  return std::uint64_t{block_serial} << 32 | epoch;
}
constexpr std::uint32_t block_serial_of(std::uint64_t time) { return static_cast<std::uint32_t>(time >> 32); }

enum class ThreadState : std::uint8_t { ready, at_barrier, at_warp, returned };

struct Thread {
  Block* block = nullptr;
  Warp* warp = nullptr;
  Fiber* fiber = nullptr;
  std::uint32_t index = 0;  // in the block: x + y · blockDim.x + z · blockDim.x · blockDim.y
  std::uint32_t lane = 0;   // index % 32
  uint3 idx;                // threadIdx

  ThreadState state = ThreadState::ready;
  CallSite site{};     // of the barrier or warp operation that it waits at
  bool works = false;  // whether that is a matrix operation, and makes this thread's accesses to memory now

  // What happened before what; see shadow.h.
  std::uint64_t now = 0;                    // time_of(block serial, barriers of the block that were passed)
  std::array<std::uint32_t, kWarp> seen{};  // seen[i]: what this thread knows of lane i's clock; its own: its clock

  // How many accesses to each stream of HBM since the last barrier; see counting.h.
  struct Position {
    std::uint64_t interval = 0;
    std::uint32_t accesses = 0;
  };
  std::vector<Position> positions;

  // Asynchronous copies that have not arrived, the oldest first; see async_copy.h.
  struct Copy {
    SharedStorage* storage = nullptr;
    Index at = 0;  // the first element
    int elements = 0;
    std::uint32_t batch = 0;
    std::array<std::byte, 16> values{};
  };
  std::vector<Copy> copies;
  std::uint32_t batches = 0;  // that were committed
};

// The thread that runs now on this OS thread; null outside of kernels.
inline constinit thread_local Thread* running = nullptr;

}  // namespace fa::simt
