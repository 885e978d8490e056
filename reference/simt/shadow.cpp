#include "simt/shadow.h"

#include <bit>

namespace fa::simt {
namespace {

std::uint32_t clock_of(const Thread& thread) { return thread.seen[thread.lane]; }

std::uint16_t first_member(const Crowd& crowd) {
  return static_cast<std::uint16_t>(crowd.warp * kWarp + std::uint32_t(std::countr_zero(crowd.lanes)));
}

// Whether what thread `earlier` of this block and epoch did at `clock` comes before what `thread` does now. (Each lane
// knows its own clock.)
bool in_order(std::uint32_t earlier, std::uint32_t clock, const Thread& thread) {
  return earlier / kWarp == thread.index / kWarp && thread.seen[earlier % kWarp] >= clock;
}

// Whether all comes before it that was done at `time`, by whichever thread.
bool in_order(std::uint64_t time, const Thread& thread, std::uint32_t first_serial) {
  const std::uint32_t block = block_serial_of(time);
  return block < first_serial || (block == block_serial_of(thread.now) && time < thread.now);
}

Conflict conflict_with_writer(const Shadow& element, const Thread& thread, std::uint32_t first_serial) {
  if (in_order(element.write_time, thread, first_serial)) return {};
  if (element.write_time == thread.now && in_order(element.writer, element.writer_clock, thread)) return {};
  return {true, Access::write, block_serial_of(element.write_time), element.writer, element.copy == Copy::arrived};
}

Conflict conflict_with(const Crowd& crowd, Access kind, const Thread& thread, std::uint32_t first_serial) {
  const std::uint32_t here = block_serial_of(thread.now);
  if (crowd.other_block >= first_serial && crowd.other_block != here) {
    return {true, kind, crowd.other_block, crowd.thread_of_other_block};
  }
  if (in_order(crowd.time, thread, first_serial)) return {};
  if (crowd.time != thread.now) return {true, kind, block_serial_of(crowd.time), first_member(crowd)};

  const std::uint32_t other = crowd.thread_of_other_warp;
  if (other != Crowd::kNobody && other / kWarp != thread.index / kWarp) return {true, kind, here, other};
  for (std::uint32_t lanes = crowd.lanes; lanes != 0; lanes &= lanes - 1) {
    const std::uint32_t member = crowd.warp * kWarp + std::uint32_t(std::countr_zero(lanes));
    if (!in_order(member, crowd.clock, thread)) return {true, kind, here, member};
  }
  return {};
}

void join(Crowd& crowd, const Thread& thread) {
  const auto warp = static_cast<std::uint16_t>(thread.index / kWarp);
  const std::uint32_t lane = 1u << thread.lane;
  if (crowd.time == thread.now && crowd.warp == warp && crowd.clock == clock_of(thread)) {
    crowd.lanes |= lane;
    return;
  }
  if (crowd.time != thread.now) {
    const std::uint32_t block = block_serial_of(crowd.time);
    if (block != block_serial_of(thread.now)) {
      crowd.other_block = block;
      crowd.thread_of_other_block = first_member(crowd);
    }
    crowd.thread_of_other_warp = Crowd::kNobody;
  } else if (crowd.warp != warp) {
    crowd.thread_of_other_warp = first_member(crowd);
  }
  // Lanes of this warp with another clock are left out. They met this one at a __syncwarp since, unless its mask was
  // not the whole warp's: then a race may be missed.
  crowd.time = thread.now;
  crowd.warp = warp;
  crowd.clock = clock_of(thread);
  crowd.lanes = lane;
}

}  // namespace

Conflict note(Shadow& element, const Thread& thread, std::uint32_t first_serial, Access access) {
  Conflict conflict = conflict_with_writer(element, thread, first_serial);
  if (!conflict && access != Access::read) {
    conflict = conflict_with(element.readers, Access::read, thread, first_serial);
  }
  if (!conflict && access != Access::atomic && element.has_atomics) {
    conflict = conflict_with(element.atomics, Access::atomic, thread, first_serial);
  }
  if (conflict) return conflict;

  switch (access) {
    case Access::read:
      join(element.readers, thread);
      break;
    case Access::atomic:
      join(element.atomics, thread);
      element.has_atomics = true;
      break;
    case Access::write:
      element.write_time = thread.now;
      element.writer_clock = clock_of(thread);
      element.writer = static_cast<std::uint16_t>(thread.index);
      element.has_atomics = false;
      element.copy = Copy::none;
      break;
  }
  return {};
}

}  // namespace fa::simt
