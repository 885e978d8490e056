#include "simt/block.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "simt/fault.h"

namespace fa::simt {
namespace {

uint3 unflatten(Index linear, const Extents& extents) {
  const auto x = linear % extents.x, y = linear / extents.x % extents.y, z = linear / extents.x / extents.y;
  return {unsigned(x), unsigned(y), unsigned(z)};
}

dim3 dimensions(const Extents& extents) { return {unsigned(extents.x), unsigned(extents.y), unsigned(extents.z)}; }

// The same on every machine, unlike std::shuffle.
void shuffle(std::vector<std::uint32_t>& order, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
}

}  // namespace

uint3 Kernel::block_index(Index linear) const { return unflatten(linear, shape.grid); }
uint3 Block::thread_index(std::uint32_t linear) const { return unflatten(linear, kernel_->shape.block); }

void Block::begin_launch(const Kernel& kernel) {
  kernel_ = &kernel;
  counter_.begin_launch();
  banks_.begin_launch();
  make_threads();
  blockDim = dimensions(kernel.shape.block);
  gridDim = dimensions(kernel.shape.grid);
}

void Block::make_threads() {
  const Extents& block = kernel_->shape.block;
  const auto count = static_cast<std::uint32_t>(block.x * block.y * block.z);
  while (threads_.size() < count) {
    Thread& thread = threads_.emplace_back();
    thread.block = this;
    thread.index = static_cast<std::uint32_t>(threads_.size() - 1);
    thread.lane = thread.index % kWarp;
    if (thread.lane == 0) warps_.emplace_back();
    thread.warp = &warps_.back();
  }
  for (Warp& warp : warps_) {
    warp.lanes.fill(nullptr);
    warp.streams.clear();  // a long kernel may have left many
  }
  for (std::uint32_t index = 0; index < count; ++index) {
    Thread& thread = threads_[index];
    thread.idx = thread_index(index);
    thread.warp->lanes[thread.lane] = &thread;
  }

  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0u);
  if (kernel_->settings.order == Order::backward) std::reverse(order_.begin(), order_.end());
}

// A fiber plays the same thread in block after block: it pauses at the end of each.
void Block::begin_block(Index linear) {
  linear_ = linear;
  blockIdx = index();
  last_barrier_ = {};
  fault_.clear();
  more_faults_ = 0;
  unwritten_ = {};
  static_shared_bytes_ = 0;
  dynamic_memory_.resize(static_cast<std::size_t>(kernel_->shape.shared_bytes));
  const auto serial = kernel_->first_serial + static_cast<std::uint32_t>(linear);
  if (kernel_->settings.order == Order::shuffled) {
    std::iota(order_.begin(), order_.end(), 0u);
    shuffle(order_, kernel_->settings.seed + std::uint64_t(linear));
  }

  for (Warp& warp : warps_) ++warp.interval;
  if (fibers_.size() < order_.size()) fibers_.resize(order_.size());
  for (std::uint32_t index = 0; index < order_.size(); ++index) {
    Thread& thread = threads_[index];
    if (fibers_[index] == nullptr) {
      fibers_[index] = std::make_unique<Fiber>([this] {
        while (true) run_thread();
      });
    }
    thread.fiber = fibers_[index].get();
    thread.state = ThreadState::ready;
    thread.now = time_of(serial, 0);
    thread.seen.fill(0);
    thread.seen[thread.lane] = 1;
    thread.copies.clear();
    thread.batches = 0;
  }
}

// On the thread's fiber.
void Block::run_thread() {
  Thread& thread = *running;
  try {
    kernel_->run(kernel_->arguments);
  } catch (const Fiber::Unwind&) {
    throw;
  } catch (...) {
    error_ = std::current_exception();
  }
  thread.state = ThreadState::returned;
  thread.fiber->pause();
}

void Block::pause(Thread& thread) { thread.fiber->pause(); }

void Block::run(Index linear) {
  begin_block(linear);
  try {
    while (!all_threads(ThreadState::returned)) {
      const bool progress = resume_ready_threads();
      if (all_threads(ThreadState::at_barrier)) {
        open_barrier();
      } else if (!progress) {
        stop_stuck();
      }
    }
    if (!fault_.empty()) stop_when_all_wait();
    running = nullptr;
  } catch (...) {
    running = nullptr;
    fibers_.clear();  // some stand in the middle of the kernel, and must not go on
    throw;
  }
}

bool Block::all_threads(ThreadState state) const {
  const auto end = threads_.begin() + static_cast<std::ptrdiff_t>(order_.size());
  return std::all_of(threads_.begin(), end, [state](const Thread& thread) { return thread.state == state; });
}

// Resumes each thread that is ready once. Whether there was one. Throws what a thread threw.
bool Block::resume_ready_threads() {
  bool progress = false;
  for (const std::uint32_t index : order_) {
    Thread& thread = threads_[index];
    if (thread.state != ThreadState::ready) continue;
    progress = true;
    running = &thread;
    threadIdx = thread.idx;
    thread.fiber->resume();
    if (error_ == nullptr) continue;
    const std::exception_ptr error = std::exchange(error_, nullptr);
    if (!fault_.empty()) stop_now();  // it came first
    std::rethrow_exception(error);
  }
  return progress;
}

void Block::wait_at_barrier(Thread& thread, const CallSite& site) {
  thread.state = ThreadState::at_barrier;
  thread.site = site;
  pause(thread);
}

// All threads of the block wait at a barrier: the same one?
void Block::open_barrier() {
  const Thread& first = threads_[0];
  for (std::uint32_t index = 0; index < order_.size(); ++index) {
    if (same_site(threads_[index].site, first.site)) continue;
    stop_at_barriers("the threads of a block wait at different barriers", first, threads_[index]);
  }
  if (!fault_.empty()) stop_when_all_wait();
  for (const std::uint32_t index : order_) {
    threads_[index].state = ThreadState::ready;
    ++threads_[index].now;
  }
  last_barrier_ = first.site;
  for (Warp& warp : warps_) ++warp.interval;
}

// Nobody can go on, and not all have returned: somebody waits for a thread that will never come.
void Block::stop_stuck() const {
  const Thread* at_barrier = nullptr;
  const Thread* elsewhere = nullptr;
  for (std::uint32_t index = 0; index < order_.size(); ++index) {
    const Thread& thread = threads_[index];
    if (thread.state == ThreadState::at_warp) {
      stop_at_barriers(text_of_operation(thread) + " that not all lanes of its mask reach", thread,
                       *missing_lane(thread));
    }
    const Thread*& first = thread.state == ThreadState::at_barrier ? at_barrier : elsewhere;
    if (first == nullptr) first = &thread;
  }
  stop_at_barriers("a barrier that not all threads reach", *at_barrier, *elsewhere);
}

// If there was another fault before, it may be the cause, or the effect.
void Block::stop_at_barriers(const std::string& what, const Thread& thread, const Thread& other) const {
  stop(thread, what, text_of_states(thread, other) + (fault_.empty() ? "" : "before that, " + fault_ + '\n'));
}

// At a barrier, or at the end: whoever was to write an element before that has done so.
void Block::stop_when_all_wait() {
  if (const Shadow* element = unwritten_.element) {
    const bool written = block_serial_of(element->write_time) == block_serial_of(threads_[0].now);
    if (!written || element->writer == unwritten_.reader) fault_ = unwritten_.by_nobody;
  }
  stop_now();
}

void Block::stop_now() const { throw KernelFault(fault_); }

SharedStorage& Block::dynamic_shared(std::size_t region, Index offset, const SharedLayout& layout) {
  const Thread& thread = *running;
  const std::string name(layout.name);
  if (layout.extents[0] < 0 || layout.extents[1] < 0) {
    stop(thread, "dynamic shared memory: '" + name + "' has a negative size");
  }
  if (offset + layout.bytes() > kernel_->shape.shared_bytes) {
    stop(thread, "dynamic shared memory: '" + name + "' needs bytes " + std::to_string(offset) + " to " +
                     std::to_string(offset + layout.bytes()) + ", but the launch asked for " +
                     std::to_string(kernel_->shape.shared_bytes));
  }
  while (dynamic_regions_.size() <= region) dynamic_regions_.emplace_back();
  SharedStorage& storage = dynamic_regions_[region];
  if (storage.block_serial == block_serial_of(thread.now)) {
    const bool same = storage.layout.bytes() == layout.bytes() && storage.layout.name == layout.name &&
                      storage.layout.extents == layout.extents;
    if (!same) stop(thread, "dynamic shared memory: threads of a block deal it out differently, at '" + name + "'");
    return storage;
  }
  storage.layout = layout;
  storage.data = dynamic_memory_.data() + offset;
  storage.offset = offset;
  storage.block_serial = block_serial_of(thread.now);
  if (looks_at_shared() && storage.shadows.size() < std::size_t(layout.elements())) {
    storage.shadows.resize(std::size_t(layout.elements()));
  }
  return storage;
}

void Block::use_static_shared(SharedStorage& storage) {
  constexpr Index kMostStatic = 48 * 1024;  // what nvcc accepts
  storage.block_serial = block_serial_of(running->now);
  if (looks_at_shared() && storage.shadows.empty()) {
    storage.shadows.resize(std::size_t(storage.layout.elements()));
  }
  static_shared_bytes_ += storage.layout.bytes();
  if (static_shared_bytes_ > kMostStatic) {
    stop(*running, "static shared memory: " + std::to_string(static_shared_bytes_) + " bytes with '" + storage.name() +
                       "': at most " + std::to_string(kMostStatic) + "; more than that must be dynamic");
  }
  const Index both = static_shared_bytes_ + kernel_->shape.shared_bytes;
  if (both > kernel_->settings.shared_bytes_per_block) {
    stop(*running, "shared memory: " + std::to_string(both) + " bytes, static and dynamic: at most " +
                       std::to_string(kernel_->settings.shared_bytes_per_block));
  }
}

}  // namespace fa::simt

void __syncthreads(fa::simt::CallSite site) {
  fa::simt::Thread& thread = *fa::simt::running;
  thread.block->wait_at_barrier(thread, site);
}
