// What the meters count: bytes through HBM.

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

// One launch of a kernel: in total, and by buffer.
struct LaunchRecord {
  std::string kernel;
  Traffic traffic;
  Index read_sectors = 0;
  Index written_sectors = 0;
  std::vector<BufferTraffic> by_buffer;
};

}  // namespace fa
