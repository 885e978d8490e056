// A fiber: a function with a stack of its own, which can pause in the middle and go on later. One of them plays each
// thread of a block. Boost.Context switches the stacks; this adds how a fiber is stopped halfway, and tells the address
// sanitizer which stack is in use.

#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace fa::simt {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // a body that has paused is unwound: its destructors run
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it pauses or returns.
  void resume();

  // Within the body: back to whoever called resume().
  void pause();

  struct Unwind {};  // thrown by pause() when the fiber is destroyed; whoever catches it must throw it on

 private:
  void run();

  std::function<void()> body_;
  bool returned_ = false;
  bool unwinding_ = false;

  // The two ends of the switch: where the body stands while it does not run, and who resumed it while it does.
  boost::context::fiber inside_, outside_;

  // For the address sanitizer: the stacks on both ends.
  const void* stack_bottom_ = nullptr;
  std::size_t stack_size_ = 0;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
};

}  // namespace fa::simt
