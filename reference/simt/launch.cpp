#include "simt/launch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "fa/device_info.h"
#include "simt/banks.h"
#include "simt/fault.h"
#include "simt/meter.h"
#include "simt/settings.h"

namespace fa::simt {
namespace {

// OS threads that wait for work, so that a launch does not pay for their start. The one that calls run() works, too.
class Workers {
 public:
  ~Workers() {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Calls `task(0)` to `task(count - 1)`, all at the same time; returns when all have returned.
  void run(int count, const std::function<void(int)>& task) {
    while (static_cast<int>(threads_.size()) < count - 1) {
      threads_.emplace_back([this, number = static_cast<int>(threads_.size()) + 1] { work(number); });
    }
    if (count > 1) {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      count_ = left_ = count - 1;
      ++round_;
      start_.notify_all();
    }
    task(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void work(int number) {
    int seen = 0;
    while (true) {
      const std::function<void(int)>* task = nullptr;
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return closing_ || round_ != seen; });
        if (closing_) return;
        seen = round_;
        if (number > count_) continue;
        task = task_;
      }
      (*task)(number);
      const std::scoped_lock lock(mutex_);
      if (--left_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable start_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* task_ = nullptr;
  int count_ = 0, left_ = 0, round_ = 0;
  bool closing_ = false;
};

// The block that this OS thread runs others' threads with, kept from launch to launch.
Block& block_of_this_thread() {
  thread_local Block block;
  return block;
}

// What a launch has come to. Blocks are dealt out in order, so the first that fails is the same at each run, unless
// blocks race with each other.
class Progress {
 public:
  explicit Progress(Index blocks) : end_(blocks) {}

  bool next(Index& block) {
    block = next_.fetch_add(1);
    return block < end_.load();
  }
  void fail(Index block, std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    if (error_ != nullptr && failed_ < block) return;
    failed_ = block;
    error_ = std::move(error);
    end_ = block;  // later blocks do not matter any more
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::atomic<Index> next_ = 0;
  std::atomic<Index> end_;
  std::mutex mutex_;
  Index failed_ = 0;
  std::exception_ptr error_;
};

void add_buffers(LaunchRecord& record, const std::map<std::uint32_t, Counter::Entry>& entries) {
  for (const auto& [slot, entry] : entries) {
    const Count& count = entry.count;
    record.by_buffer.push_back({entry.buffer->name, count.traffic, count.read_sectors, count.written_sectors});
    record.traffic = record.traffic + count.traffic;
    record.read_sectors += count.read_sectors;
    record.written_sectors += count.written_sectors;
  }
}

}  // namespace

void launch(const std::string& name, const LaunchShape& shape, void (*run)(const void*), const void* arguments) {
  static std::mutex one_at_a_time;
  static std::uint32_t serials = 1;  // 0 means: nobody
  static Workers workers;
  if (running != nullptr) stop(*running, "launch of " + name + " in a kernel: only the host launches");
  const std::scoped_lock lock(one_at_a_time);

  validate(shape, name, device());
  Kernel kernel{.name = name, .shape = shape, .settings = settings(), .run = run, .arguments = arguments};
  const Index blocks = kernel.blocks();
  kernel.first_serial = serials;
  serials += static_cast<std::uint32_t>(blocks);

  LaunchRecord record;
  record.kernel = name;
  record.banks_counted = counting_banks = kernel.settings.banks || banks_wanted();

  Progress progress(blocks);
  std::mutex counted;
  std::map<std::uint32_t, Counter::Entry> entries;  // by slot, so that their order is the same at each run
  const int count = static_cast<int>(std::min<Index>(blocks, kernel.settings.workers));
  workers.run(count, [&](int) {
    Index index = 0;
    try {
      Block& block = block_of_this_thread();
      block.begin_launch(kernel);
      while (progress.next(index)) block.run(index);
    } catch (...) {
      progress.fail(index, std::current_exception());
    }
    try {
      const std::scoped_lock adding(counted);
      for (const Counter::Entry& entry : block_of_this_thread().counter().entries()) {
        Counter::Entry& sum = entries.try_emplace(entry.buffer->slot, Counter::Entry{entry.buffer, {}}).first->second;
        sum.count = sum.count + entry.count;
      }
      if (!record.banks_counted) return;
      for (const SharedTraffic& array : block_of_this_thread().banks().by_array()) add_up(record.by_array, array);
    } catch (...) {  // no memory left
      progress.fail(0, std::current_exception());
    }
  });
  add_buffers(record, entries);
  std::ranges::sort(record.by_array, {}, &SharedTraffic::array);  // the same at each run
  publish(record);
  progress.rethrow();
}

}  // namespace fa::simt

namespace fa {

const DeviceInfo& device() {
  static DeviceInfo info;
  info = {.name = "emulated GPU",
          .multiprocessors = simt::settings().workers,
          .shared_bytes_per_block = simt::settings().shared_bytes_per_block,
          .memory_bytes = Index{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
          .emulated = true};
  return info;
}

bool device_available(std::string*) { return true; }

}  // namespace fa
