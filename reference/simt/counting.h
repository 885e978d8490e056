// What is counted: bytes and 32-byte sectors through HBM, by buffer.
//
// A GPU serves the 32 lanes of a warp together: one load or store instruction asks for all sectors of 32 bytes in which
// some lane has an element. 32 floats in a row lie in 4 sectors; 32 floats that are far apart need 32, eight times the
// bytes. Fibers run lane by lane, so the emulator must find out which accesses belong to one instruction: it takes the
// n-th access of each lane to a buffer since the last barrier for one. That is exact as long as no lane of a warp
// leaves out an access in the middle that others make.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fa/byte_counts.h"
#include "simt/memory.h"
#include "simt/thread.h"

namespace fa::simt {

inline constexpr Index kSectorBytes = 32;

struct Count {
  Traffic traffic;
  Index read_sectors = 0;
  Index written_sectors = 0;

  friend Count operator+(const Count& a, const Count& b) {
    return {a.traffic + b.traffic, a.read_sectors + b.read_sectors, a.written_sectors + b.written_sectors};
  }
};

// Of one kind of access (reads, or writes) to one buffer: the sectors that each instruction of a warp asked for.
struct Stream {
  struct Request {
    std::uint32_t sectors = 0;
    std::array<std::uint32_t, kWarp> sector;
  };
  std::uint64_t interval = 0;  // the requests are those since this barrier
  std::vector<Request> requests;
};

// The counts of one OS thread during a launch. Not shared, so nothing is locked; the launch adds them up.
class Counter {
 public:
  void begin_launch();
  // An access to `elements` neighbors is one request, as long as they lie in one sector: a vector does.
  void read(Thread& thread, const HbmBuffer& buffer, Index at, int elements = 1) {
    note(thread, buffer, at, elements, false);
  }
  void written(Thread& thread, const HbmBuffer& buffer, Index at, int elements = 1) {
    note(thread, buffer, at, elements, true);
  }

  struct Entry {
    const HbmBuffer* buffer;
    Count count;
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the first access

 private:
  void note(Thread& thread, const HbmBuffer& buffer, Index at, int elements, bool write);
  std::uint32_t entry_of(const HbmBuffer& buffer);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> entry_of_slot_;  // index into entries_ + 1; 0: not seen in this launch
};

}  // namespace fa::simt
