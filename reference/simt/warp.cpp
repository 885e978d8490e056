#include "simt/warp.h"

#include <algorithm>
#include <string>

#include "simt/block.h"
#include "simt/fault.h"

namespace fa::simt {
namespace {

const char* name_of(const Arrival& arrival) {
  switch (arrival.operation) {
    case WarpOperation::sync:
      return "__syncwarp";
    case WarpOperation::shuffle:
      return "__shfl_sync";
    case WarpOperation::shuffle_up:
      return "__shfl_up_sync";
    case WarpOperation::shuffle_down:
      return "__shfl_down_sync";
    case WarpOperation::shuffle_xor:
      return "__shfl_xor_sync";
    case WarpOperation::any:
      return "__any_sync";
    case WarpOperation::all:
      return "__all_sync";
    case WarpOperation::ballot:
      return "__ballot_sync";
    case WarpOperation::matrix:
      return arrival.name;
  }
  return "?";
}

std::string hexadecimal(std::uint32_t mask) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += digits[mask >> shift & 15u];
  return text;
}

// The lane whose value `lane` gets from a shuffle.
std::uint32_t source_of(const Arrival& arrival, std::uint32_t lane) {
  const std::uint32_t argument = arrival.argument;
  const std::uint32_t first = lane / arrival.width * arrival.width, end = first + arrival.width;  // its segment
  switch (arrival.operation) {
    case WarpOperation::shuffle:
      return first + argument % arrival.width;
    case WarpOperation::shuffle_up:
      return argument <= lane - first ? lane - argument : lane;
    case WarpOperation::shuffle_down:
      return argument < end - lane ? lane + argument : lane;
    case WarpOperation::shuffle_xor:
      return (lane ^ argument) < end ? lane ^ argument : lane;  // an earlier segment may be read
    default:
      return lane;
  }
}

bool takes_part(std::uint32_t mask, std::uint32_t lane) { return (mask >> lane & 1u) != 0; }

// Lanes may come to a __syncwarp from different lines. A shuffle or a vote is one instruction.
bool meets(const Thread& thread, const Thread& other) {
  if (other.state != ThreadState::at_warp) return false;
  const Arrival& ours = thread.warp->arrivals[thread.lane];
  const Arrival& theirs = other.warp->arrivals[other.lane];
  return ours.operation == theirs.operation && ours.mask == theirs.mask && ours.work == theirs.work &&
         (ours.operation == WarpOperation::sync || same_site(thread.site, other.site));
}

// Each lane now knows of all that the others did before.
void tell_each_other(Warp& warp, std::uint32_t mask) {
  std::array<std::uint32_t, kWarp> known{};
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (!takes_part(mask, lane)) continue;
    const std::array<std::uint32_t, kWarp>& seen = warp.lanes[lane]->seen;
    std::transform(known.begin(), known.end(), seen.begin(), known.begin(),
                   [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
  }
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (!takes_part(mask, lane)) continue;
    warp.lanes[lane]->seen = known;
    ++warp.lanes[lane]->seen[lane];
  }
  ++warp.interval;
}

std::uint64_t result_of(const Warp& warp, std::uint32_t mask, std::uint32_t lane, std::uint32_t votes) {
  switch (warp.arrivals[lane].operation) {
    case WarpOperation::sync:
    case WarpOperation::matrix:
      return 0;
    case WarpOperation::any:
      return votes != 0;
    case WarpOperation::all:
      return votes == mask;
    case WarpOperation::ballot:
      return votes;
    default:
      break;
  }
  const Thread& thread = *warp.lanes[lane];
  const std::uint32_t source = source_of(warp.arrivals[lane], lane);
  if (!takes_part(mask, source)) {
    stop(thread, text_of_operation(thread) + " reads lane " + std::to_string(source) + ", which does not take part",
         "  at " + to_string(thread.site) + "; the mask is " + text_of_mask(thread) +
             ", the lanes of it that exist are " + hexadecimal(mask) + '\n');
  }
  return warp.arrivals[source].value;
}

// All lanes of the mask are here.
void complete(Warp& warp, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (takes_part(mask, lane) && warp.arrivals[lane].value != 0) votes |= 1u << lane;
  }
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (takes_part(mask, lane)) warp.arrivals[lane].result = result_of(warp, mask, lane, votes);
  }
  const Arrival& any = warp.arrivals[std::size_t(std::countr_zero(mask))];
  if (any.operation == WarpOperation::sync) tell_each_other(warp, mask);
  if (any.work != nullptr) any.work(warp);
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    if (takes_part(mask, lane)) warp.lanes[lane]->state = ThreadState::ready;
  }
}

}  // namespace

const Thread* missing_lane(const Thread& thread) {
  const Warp& warp = *thread.warp;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    const Thread* const other = warp.lanes[lane];
    if (!takes_part(warp.arrivals[thread.lane].mask, lane) || other == nullptr) continue;
    if (!meets(thread, *other)) return other;
  }
  return nullptr;
}

std::string text_of_operation(const Thread& thread) { return name_of(thread.warp->arrivals[thread.lane]); }
std::string text_of_mask(const Thread& thread) { return hexadecimal(thread.warp->arrivals[thread.lane].mask); }

std::uint64_t meet(const Arrival& arrival, const CallSite& site) {
  Thread& thread = *running;
  Warp& warp = *thread.warp;
  warp.arrivals[thread.lane] = arrival;
  thread.site = site;
  if (!takes_part(arrival.mask, thread.lane)) {
    stop(thread, text_of_operation(thread) + " with a mask that leaves out the lane that calls it",
         "  at " + to_string(site) + "; the mask is " + text_of_mask(thread) + ", the lane is " +
             std::to_string(thread.lane) + '\n');
  }
  if (!std::has_single_bit(arrival.width) || arrival.width > kWarp) {
    stop(thread,
         text_of_operation(thread) + " with width = " + std::to_string(int(arrival.width)) +
             ": must be 1, 2, 4, 8, 16 or 32",
         "  at " + to_string(site) + '\n');
  }

  thread.state = ThreadState::at_warp;
  if (missing_lane(thread) == nullptr) {
    std::uint32_t present = 0;
    for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
      if (warp.lanes[lane] != nullptr) present |= 1u << lane;
    }
    complete(warp, arrival.mask & present);
  } else {
    thread.block->pause(thread);
  }
  return warp.arrivals[thread.lane].result;
}

}  // namespace fa::simt

void __syncwarp(unsigned mask, fa::simt::CallSite site) {
  fa::simt::meet({.operation = fa::simt::WarpOperation::sync, .mask = mask}, site);
}
int __any_sync(unsigned mask, int predicate, fa::simt::CallSite site) {
  return int(fa::simt::meet({.operation = fa::simt::WarpOperation::any, .mask = mask, .value = predicate != 0}, site));
}
int __all_sync(unsigned mask, int predicate, fa::simt::CallSite site) {
  return int(fa::simt::meet({.operation = fa::simt::WarpOperation::all, .mask = mask, .value = predicate != 0}, site));
}
unsigned __ballot_sync(unsigned mask, int predicate, fa::simt::CallSite site) {
  return unsigned(
      fa::simt::meet({.operation = fa::simt::WarpOperation::ballot, .mask = mask, .value = predicate != 0}, site));
}
