// A thread block that runs: its threads as fibers, its barrier, its dynamic shared memory. Each OS thread that takes
// part in a launch has one Block and runs block after block of the grid with it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "fa/launch_shape.h"
#include "simt/banks.h"
#include "simt/counting.h"
#include "simt/fiber.h"
#include "simt/settings.h"
#include "simt/shared_storage.h"
#include "simt/thread.h"
#include "simt/warp.h"

namespace fa::simt {

// What all blocks of a launch have in common.
struct Kernel {
  std::string name;
  LaunchShape shape;
  Settings settings;
  void (*run)(const void* arguments) = nullptr;  // calls the kernel, as one thread
  const void* arguments = nullptr;
  std::uint32_t first_serial = 1;  // block_serial of block (0, 0, 0); the others follow

  Index blocks() const { return shape.grid.x * shape.grid.y * shape.grid.z; }
  uint3 block_index(Index linear) const;
};

class Block {
 public:
  void begin_launch(const Kernel& kernel);
  void run(Index linear);  // one block of the grid, to its end. Throws what a thread threw, or a KernelFault

  // For threads, while they run.
  void wait_at_barrier(Thread& thread, const CallSite& site);
  void pause(Thread& thread);  // until its state is ready again
  template <class Message>
  void stop_later(Message message);
  // A read of shared memory that nothing wrote. `by_nobody` is what to say if no other thread of the block has written
  // it when the block stops: then what is missing is no barrier.
  template <class Message, class OtherMessage>
  void stop_later_unwritten(const Shadow& element, Message message, OtherMessage by_nobody);
  SharedStorage& dynamic_shared(std::size_t region, Index offset, const SharedLayout& layout);
  void use_static_shared(SharedStorage& storage);  // at the first touch in this block

  const Kernel& kernel() const { return *kernel_; }
  uint3 index() const { return kernel_->block_index(linear_); }
  uint3 thread_index(std::uint32_t linear) const;
  const Thread& thread(std::uint32_t linear) const { return threads_[linear]; }
  const Place& last_barrier() const { return last_barrier_; }  // line = 0: none yet
  Counter& counter() { return counter_; }
  BankCounter& banks() { return banks_; }
  bool looks_at_shared() const { return kernel_->settings.checks || counting_banks; }

 private:
  void make_threads();
  void begin_block(Index linear);
  void run_thread();
  bool all_threads(ThreadState state) const;
  bool resume_ready_threads();
  void open_barrier();
  [[noreturn]] void stop_at_barriers(const std::string& what, const Thread& thread, const Thread& other) const;
  [[noreturn]] void stop_stuck() const;
  [[noreturn]] void stop_when_all_wait();
  [[noreturn]] void stop_now() const;

  const Kernel* kernel_ = nullptr;
  Index linear_ = 0;
  Place last_barrier_{};
  std::exception_ptr error_;  // what a thread threw
  std::string fault_;         // at which the block will stop; empty: none
  std::uint32_t more_faults_ = 0;
  struct {
    const Shadow* element = nullptr;  // null: the fault is another one
    std::uint32_t reader = 0;
    std::string by_nobody;
  } unwritten_;

  std::deque<Thread> threads_;  // those of the current shape first; kept for the next launch
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<Warp> warps_;
  std::vector<std::uint32_t> order_;  // in which threads run

  Index static_shared_bytes_ = 0;
  std::vector<std::byte> dynamic_memory_;
  std::deque<SharedStorage> dynamic_regions_;

  Counter counter_;
  BankCounter banks_;
};

// The block stops when all its threads wait or have ended, not at once: that some threads do not come to a barrier may
// be what is wrong, and only then it shows. `message` is called for the first fault.
template <class Message>
void Block::stop_later(Message message) {
  constexpr std::uint32_t kMostFaults = 1u << 20;  // a thread that waits in a loop would go on forever
  if (fault_.empty()) {
    fault_ = message();
  } else if (++more_faults_ == kMostFaults) {
    stop_now();
  }
}

template <class Message, class OtherMessage>
void Block::stop_later_unwritten(const Shadow& element, Message message, OtherMessage by_nobody) {
  if (fault_.empty()) unwritten_ = {&element, running->index, by_nobody()};
  stop_later(message);
}

}  // namespace fa::simt
