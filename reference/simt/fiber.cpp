#include "simt/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "fa/device_error.h"

#if defined(__SANITIZE_ADDRESS__)
#define FA_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FA_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef FA_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace fa::simt {
namespace {

// The sanitizer follows one stack a thread, unless told that it changes. `kept` is where it stores what belongs to the
// stack that is left; null: that stack is never entered again.
void leaving([[maybe_unused]] void** kept, [[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t size) {
#ifdef FA_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(kept, bottom, size);
#endif
}
void arrived([[maybe_unused]] void* kept, [[maybe_unused]] const void** bottom, [[maybe_unused]] std::size_t* size) {
#ifdef FA_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(kept, bottom, size);
#endif
}

// Room for local arrays of a kernel. Untouched pages cost nothing; past the end lies a page that may not be touched,
// so that too large an array is a crash at the place, not a silent overwrite.
constexpr std::size_t kStackBytes = 256 * 1024;

// Stacks are expensive to make and cheap to keep: those of finished fibers are used again by the same OS thread.
class StackPool {
 public:
  ~StackPool() {
    for (boost::context::stack_context& stack : free_) maker_.deallocate(stack);
  }
  boost::context::stack_context allocate() {
    if (free_.empty()) return make();
    const boost::context::stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) { free_.push_back(stack); }

 private:
  boost::context::stack_context make() {
    try {
      return maker_.allocate();
    } catch (const std::bad_alloc&) {
      throw DeviceError("no memory for the stack of one more thread: FA_SIMT_WORKERS=1 needs the fewest");
    }
  }

  boost::context::protected_fixedsize_stack maker_{kStackBytes};
  std::vector<boost::context::stack_context> free_;
};

std::shared_ptr<StackPool> stack_pool() {
  thread_local const std::shared_ptr<StackPool> pool = std::make_shared<StackPool>();
  return pool;
}

// What boost::context::fiber asks for; it keeps the pool alive for as long as the fiber has a stack of it.
struct PooledStack {
  std::shared_ptr<StackPool> pool = stack_pool();
  boost::context::stack_context allocate() { return pool->allocate(); }
  void deallocate(boost::context::stack_context& stack) { pool->deallocate(stack); }
};

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  PooledStack allocator;
  const boost::context::stack_context stack = allocator.allocate();
  stack_bottom_ = static_cast<const char*>(stack.sp) - stack.size;
  stack_size_ = stack.size;
  inside_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                  std::move(allocator), [this](boost::context::fiber&& caller) {
                                    outside_ = std::move(caller);
                                    run();
                                    leaving(nullptr, outer_bottom_, outer_size_);
                                    return std::move(outside_);
                                  });
}

Fiber::~Fiber() {
  if (returned_) return;
  unwinding_ = true;
  resume();
}

void Fiber::run() {
  arrived(nullptr, &outer_bottom_, &outer_size_);
  try {
    if (!unwinding_) body_();
  } catch (const Unwind&) {
  }
  returned_ = true;
}

void Fiber::resume() {
  void* kept = nullptr;
  leaving(&kept, stack_bottom_, stack_size_);
  inside_ = std::move(inside_).resume();
  arrived(kept, nullptr, nullptr);
}

void Fiber::pause() {
  void* kept = nullptr;
  leaving(&kept, outer_bottom_, outer_size_);
  outside_ = std::move(outside_).resume();
  arrived(kept, &outer_bottom_, &outer_size_);
  if (unwinding_) throw Unwind{};
}

}  // namespace fa::simt
