#include "simt/counting.h"

#include <string>

#include "simt/fault.h"
#include "simt/warp.h"

namespace fa::simt {
namespace {

// A thread that waits for another one in a loop would go on reading forever.
constexpr std::uint32_t kMostAccesses = 1u << 21;

[[noreturn, gnu::cold]] void stop_spinning(const Thread& thread, const HbmBuffer& buffer, Index at, bool write) {
  stop(thread,
       "HBM: " + std::to_string(kMostAccesses) + (write ? " writes to '" : " reads of '") + buffer.name +
           "' by one thread with no barrier between, the last of element " + std::to_string(at),
       "  does it wait for another thread in a loop? On the emulator, the others go on when it comes to a barrier\n");
}

}  // namespace

void Counter::begin_launch() {
  entries_.clear();
  entry_of_slot_.assign(hbm_slots(), 0);
}

std::uint32_t Counter::entry_of(const HbmBuffer& buffer) {
  std::uint32_t& entry = entry_of_slot_[buffer.slot];
  if (entry == 0) {
    entries_.push_back({&buffer, {}});
    entry = static_cast<std::uint32_t>(entries_.size());
  }
  return entry - 1;
}

void Counter::note(Thread& thread, const HbmBuffer& buffer, Index at, int elements, bool write) {
  const std::uint32_t entry = entry_of(buffer);
  Count& count = entries_[entry].count;
  (write ? count.traffic.written_bytes : count.traffic.read_bytes) += elements * buffer.element_bytes;

  // The how-manieth access of this lane to this stream since the last barrier?
  const std::size_t stream_index = 2 * std::size_t{entry} + std::size_t{write};
  Warp& warp = *thread.warp;
  if (thread.positions.size() <= stream_index) thread.positions.resize(stream_index + 1);
  if (warp.streams.size() <= stream_index) warp.streams.resize(stream_index + 1);
  Thread::Position& position = thread.positions[stream_index];
  Stream& stream = warp.streams[stream_index];
  if (position.interval != warp.interval) position = {warp.interval, 0};
  if (stream.interval != warp.interval) {
    stream.interval = warp.interval;
    stream.requests.clear();
  }
  if (position.accesses == kMostAccesses) stop_spinning(thread, buffer, at, write);
  if (stream.requests.size() <= position.accesses) stream.requests.resize(position.accesses + 1);
  Stream::Request& request = stream.requests[position.accesses++];

  // Neighboring lanes mostly share a sector, so the last one comes first.
  const auto sector = static_cast<std::uint32_t>(at * buffer.element_bytes / kSectorBytes);
  for (std::uint32_t seen = request.sectors; seen-- > 0;) {
    if (request.sector[seen] == sector) return;
  }
  request.sector[request.sectors++] = sector;
  ++(write ? count.written_sectors : count.read_sectors);
}

}  // namespace fa::simt
