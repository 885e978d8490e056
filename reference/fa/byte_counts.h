// What the meters count: bytes through HBM, and what shared memory is asked for.

#pragma once

#include <string>
#include <vector>

#include "fa/shape.h"

namespace fa {

// Bytes that went through HBM. A sum of traffics is a traffic.
struct Traffic {
  Index read_bytes = 0;
  Index written_bytes = 0;

  Index total() const { return read_bytes + written_bytes; }
  friend Traffic operator+(Traffic a, Traffic b) {
    return {a.read_bytes + b.read_bytes, a.written_bytes + b.written_bytes};
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// What went to and from one buffer. A sector is 32 bytes, the least that a GPU moves: a warp that reads 32 floats in a
// row asks for 4 sectors, a warp that reads them far apart asks for 32.
struct BufferTraffic {
  std::string buffer;
  Traffic traffic;
  Index read_sectors = 0;
  Index written_sectors = 0;
};

// Instructions of a warp that load from shared memory, or store to it, and the passes through its banks that they took.
// Those that more than one word of a bank cost are conflicts: none, if each bank had to give one.
struct BankCount {
  Index requests = 0;
  Index passes = 0;
  Index conflicts = 0;

  friend BankCount operator+(BankCount a, BankCount b) {
    return {a.requests + b.requests, a.passes + b.passes, a.conflicts + b.conflicts};
  }
  friend bool operator==(const BankCount&, const BankCount&) = default;
};

// What went to and from one array in shared memory.
struct SharedTraffic {
  std::string array;
  BankCount loads, stores;
};

// What a meter counts. Bank conflicts cost time and memory, so they are counted, besides bytes, only on demand.
enum class Count { bytes, banks };

// One launch of a kernel: in total, and by buffer.
struct LaunchRecord {
  std::string kernel;
  Traffic traffic;
  Index read_sectors = 0;
  Index written_sectors = 0;
  std::vector<BufferTraffic> by_buffer;
  bool banks_counted = false;
  std::vector<SharedTraffic> by_array;
};

}  // namespace fa
