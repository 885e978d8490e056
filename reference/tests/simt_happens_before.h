// Which access of a kernel comes before which, by brute force: each thread carries the list of all accesses that are
// known to be done before its next one. What shadow.h says in a few bytes must agree with this.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simt/shadow.h"

namespace fa::simt {

struct Event {
  int block = 0;
  int thread = 0;  // in the block
  int element = 0;
  Access access = Access::read;

  bool needs_order_with(const Event& other) const {
    const bool harmless = access == other.access && access != Access::write;
    return element == other.element && !harmless;
  }
};

class HappensBefore {
 public:
  HappensBefore(int blocks, int threads_of_block)
      : threads_of_block_(threads_of_block), known_(std::size_t(blocks * threads_of_block)) {}

  // The next access of its thread. Returns the earlier ones that it races with.
  std::vector<Event> add(const Event& event) {
    std::vector<Event> races;
    std::vector<bool>& known = known_of(event.block, event.thread);
    for (std::size_t earlier = 0; earlier < events_.size(); ++earlier) {
      if (event.needs_order_with(events_[earlier]) && !known[earlier]) races.push_back(events_[earlier]);
    }
    events_.push_back(event);
    for (std::vector<bool>& each : known_) each.push_back(false);
    known.back() = true;
    return races;
  }

  // Threads of a block meet: from here on, each knows what any of them knew.
  void meet(int block, const std::vector<int>& threads) {
    std::vector<bool> all(events_.size());
    for (const int thread : threads) {
      for (std::size_t event = 0; event < all.size(); ++event)
        all[event] = all[event] || known_of(block, thread)[event];
    }
    for (const int thread : threads) known_of(block, thread) = all;
  }

  void launch_ends() {
    for (std::vector<bool>& each : known_) each.assign(events_.size(), true);
  }

 private:
  std::vector<bool>& known_of(int block, int thread) { return known_[std::size_t(block * threads_of_block_ + thread)]; }

  int threads_of_block_;
  std::vector<Event> events_;
  std::vector<std::vector<bool>> known_;  // of each thread: which events come before what it does next
};

}  // namespace fa::simt
