// What all 32 lanes of a warp do together with matrices: each brings its operands and waits; the last lane to arrive
// does the work for all of them. The operands lie on the lanes' stacks, which are there as long as the lanes wait.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "simt/fault.h"
#include "simt/warp.h"

namespace fa::simt {

// While it lives, accesses to memory are those of another lane, made by the operation that it waits at.
class InNameOf {
 public:
  explicit InNameOf(Thread& lane) : before_(std::exchange(running, &lane)) { lane.works = true; }
  ~InNameOf() {
    running->works = false;
    running = before_;
  }
  InNameOf(const InNameOf&) = delete;
  InNameOf& operator=(const InNameOf&) = delete;

 private:
  Thread* before_;
};

// A warp at work, and what its lanes brought.
template <class Operands>
struct Lanes {
  Warp& warp;
  std::array<Operands*, kWarp> operands;

  Operands& operator[](int lane) const { return *operands[std::size_t(lane)]; }
  Thread& thread(int lane) const { return *warp.lanes[std::size_t(lane)]; }
};

// At which the running lane is.
inline const char* name_of_operation() { return running->warp->arrivals[running->lane].name; }

// Fault: a warp that has fewer threads, at the end of a block.
void require_whole_warp(const char* name, const CallSite& site);

// Waits for the other lanes; the last to arrive calls `work` for the warp.
template <auto work, class Operands>
void meet_all(const char* name, Operands& operands, const CallSite& site) {
  require_whole_warp(name, site);
  Arrival arrival{.operation = WarpOperation::matrix, .mask = 0xffff'ffff, .name = name};
  arrival.value = reinterpret_cast<std::uintptr_t>(&operands);
  arrival.work = [](Warp& warp) {
    Lanes<Operands> lanes{warp, {}};
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      lanes.operands[lane] = reinterpret_cast<Operands*>(warp.arrivals[lane].value);
    }
    work(lanes);
  };
  meet(arrival, site);
}

// Fault: lanes that name different places. Operands has same_place(other) and text().
template <class Operands>
void require_same_place(const Lanes<Operands>& lanes) {
  for (int lane = 1; lane < int(kWarp); ++lane) {
    if (lanes[lane].same_place(lanes[0])) continue;
    const Thread &first = lanes.thread(0), &other = lanes.thread(lane);
    stop(other, text_of_operation(other) + ", at which the lanes of a warp name different places",
         "  " + text_of_thread(first) + ": " + lanes[0].text() + "\n  " + text_of_thread(other) + ": " +
             lanes[lane].text() + "\n  at " + to_string(other.site) + '\n');
  }
}

}  // namespace fa::simt
