// What the lanes of a warp do together: __syncwarp, shuffles, votes. Each lane brings a value and waits; the last one
// to arrive works out what all of them get.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "simt/counting.h"
#include "simt/thread.h"

namespace fa::simt {

enum class WarpOperation : std::uint8_t {
  sync,
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  any,
  all,
  ballot,
  matrix
};

struct Warp;

struct Arrival {
  WarpOperation operation = WarpOperation::sync;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;  // a shuffle's operand, or a vote's predicate
  std::uint32_t argument = 0;
  std::uint32_t width = kWarp;
  std::uint64_t result = 0;
  const char* name = nullptr;          // of a matrix operation
  void (*work)(Warp& warp) = nullptr;  // what the last lane to arrive does for all; value points to a lane's operands
};

struct Warp {
  std::array<Thread*, kWarp> lanes{};  // null past the end of the block
  std::array<Arrival, kWarp> arrivals{};
  std::uint64_t interval = 0;  // raised at each barrier; see counting.h
  std::vector<Stream> streams;
};

// Waits for the other lanes and returns this lane's result.
std::uint64_t meet(const Arrival& arrival, const CallSite& site);

// A lane that `thread`, which waits at an operation, waits for; null: all are here.
const Thread* missing_lane(const Thread& thread);

std::string text_of_operation(const Thread& thread);  // at which it waits: "__syncwarp"
std::string text_of_mask(const Thread& thread);       // of that operation: "0x0000ffff"

template <class T>
T shuffle(WarpOperation operation, unsigned mask, T value, unsigned argument, int width, const CallSite& site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                "a shuffle takes a number: of an element of memory, write float(tile[i])");
  Arrival arrival{.operation = operation, .mask = mask, .argument = argument, .width = unsigned(width)};
  std::memcpy(&arrival.value, &value, sizeof(T));
  const std::uint64_t result = meet(arrival, site);
  std::memcpy(&value, &result, sizeof(T));
  return value;
}

}  // namespace fa::simt

// Lane `lane` of the segment of `width` lanes that this lane is in; the lane `delta` below; above; with the number of
// this lane ^ `lane_mask`. Where there is no such lane in the segment, the value of this lane.
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, fa::simt::CallSite site = fa::simt::CallSite::here()) {
  return fa::simt::shuffle(fa::simt::WarpOperation::shuffle, mask, value, unsigned(lane), width, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 fa::simt::CallSite site = fa::simt::CallSite::here()) {
  return fa::simt::shuffle(fa::simt::WarpOperation::shuffle_up, mask, value, delta, width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   fa::simt::CallSite site = fa::simt::CallSite::here()) {
  return fa::simt::shuffle(fa::simt::WarpOperation::shuffle_down, mask, value, delta, width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  fa::simt::CallSite site = fa::simt::CallSite::here()) {
  return fa::simt::shuffle(fa::simt::WarpOperation::shuffle_xor, mask, value, unsigned(lane_mask), width, site);
}

// Whether the predicate holds on any lane of `mask`; on all of them; on which.
int __any_sync(unsigned mask, int predicate, fa::simt::CallSite site = fa::simt::CallSite::here());
int __all_sync(unsigned mask, int predicate, fa::simt::CallSite site = fa::simt::CallSite::here());
unsigned __ballot_sync(unsigned mask, int predicate, fa::simt::CallSite site = fa::simt::CallSite::here());
