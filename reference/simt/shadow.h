// Who touched an element of memory, and since which barrier: how missing barriers are found, also when the answer
// happens to be right.
//
// Two accesses to one element by different threads need an order between them, unless both read or both are atomic:
//
//   in a block   a __syncthreads() between them: the epoch in Thread::now counts those that were passed
//   in a warp    or a __syncwarp() in which both took part: each lane has a clock, which it raises at each __syncwarp
//                and then tells to the lanes that are there (a vector clock); shuffles and votes order nothing
//   in a launch  there is none between blocks
//
// Launches follow each other, so what an earlier launch did comes before all that a later one does.

#pragma once

#include <cstdint>

#include "simt/thread.h"

namespace fa::simt {

enum class Access : std::uint8_t { read, write, atomic };

// What an asynchronous copy has to do with the last write to an element.
enum class Copy : std::uint8_t { none, in_flight, arrived };

// When the host wrote, or a launch without checks: before all blocks.
inline constexpr std::uint64_t kHostTime = time_of(0, 1);

// All who read an element, or updated it atomically, since it was written. Not a list: whoever comes later needs an
// order with each of them, so it is enough to remember the latest ones, and one more of another warp and of another
// block. Nobody is of the same warp, or block, as two that differ in it.
struct Crowd {
  std::uint64_t time = 0;   // of the latest member; 0: nobody yet
  std::uint32_t clock = 0;  // of its lane
  std::uint32_t lanes = 0;  // the lanes of its warp that are members with the same time and clock
  std::uint32_t other_block = 0;
  std::uint16_t warp = 0;
  std::uint16_t thread_of_other_warp = kNobody;  // of the same block and time
  std::uint16_t thread_of_other_block = 0;

  static constexpr std::uint16_t kNobody = 0xffff;
};

// The memory of one element. Of its writers the last suffices: it came in order after the others, so whoever comes in
// order after it comes after them, too. That is not so for atomic operations, which come in any order. Who read or
// updated before the last write may stay: whoever is not in order with them is not in order with the write either.
struct Shadow {
  std::uint64_t write_time = 0;  // 0: nobody wrote
  std::uint32_t writer_clock = 0;
  std::uint16_t writer = 0;  // its index in the block
  bool has_atomics = false;  // since it was written
  Copy copy = Copy::none;    // in flight: the writer has issued it, and it has not arrived
  Crowd readers;
  Crowd atomics;
};

// An earlier access that has no order with the one that was noted.
struct Conflict {
  bool found = false;
  Access kind = Access::read;
  std::uint32_t block_serial = 0;
  std::uint32_t thread = 0;
  bool by_copy = false;  // what was written had come by an asynchronous copy
  explicit operator bool() const { return found; }
};

// Notes an access of `thread` and says which earlier one is not in order with it, if any. `first_serial` is that of the
// first block whose accesses count: of the launch, for HBM; of the block itself, for shared memory.
Conflict note(Shadow& element, const Thread& thread, std::uint32_t first_serial, Access access);

// The common case of a read, and nothing else: another lane of the warp, or this one, has just read the element. What
// was in order for that lane is so for this one, unless it was done in this epoch. Whether it was that case; then the
// read is noted.
inline bool note_common_read(Shadow& element, const Thread& thread) {
  Crowd& readers = element.readers;
  if (readers.time != thread.now || readers.clock != thread.seen[thread.lane]) return false;
  if (readers.warp != thread.index / kWarp) return false;
  if (element.write_time == thread.now || element.has_atomics) return false;
  readers.lanes |= 1u << thread.lane;
  return true;
}

}  // namespace fa::simt
