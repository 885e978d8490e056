#include "simt/memory.h"

#include <deque>
#include <mutex>
#include <utility>

#include "fa/device_info.h"
#include "simt/settings.h"

namespace fa::simt {
namespace {

// Freed control blocks wait here, the oldest first, so that a pointer into one still finds its name for a while.
constexpr std::size_t kQuarantine = 1024;

struct Registry {
  std::mutex mutex;
  std::deque<HbmBuffer> buffers;  // a deque: pointers to its elements stay valid
  std::deque<HbmBuffer*> freed;
  Index bytes_taken = 0;  // ever
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

HbmBuffer* attach(std::string name, void* data, Index elements, Index element_bytes, bool written) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  HbmBuffer* buffer = nullptr;
  if (all.freed.size() > kQuarantine) {
    buffer = all.freed.front();
    all.freed.pop_front();
  } else {
    buffer = &all.buffers.emplace_back();
    buffer->slot = static_cast<std::uint32_t>(all.buffers.size() - 1);
  }
  all.bytes_taken += elements * element_bytes;
  buffer->name = std::move(name);
  buffer->data = data;
  buffer->elements = elements;
  buffer->element_bytes = element_bytes;
  if (settings().checks) {
    buffer->shadows.resize(static_cast<std::size_t>(elements));
    if (written) mark_written(*buffer, 0, elements);
  }
  return buffer;
}

void detach(HbmBuffer* buffer) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  ++buffer->generation;
  buffer->data = nullptr;
  std::vector<Shadow>().swap(buffer->shadows);  // gives its memory back, which = {} would not
  all.freed.push_back(buffer);
}

void mark_written(HbmBuffer& buffer, Index first, Index count) {
  if (buffer.shadows.empty()) return;
  for (Index at = first; at < first + count; ++at) buffer.shadows[std::size_t(at)].write_time = kHostTime;
}

std::size_t hbm_slots() {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  return all.buffers.size();
}

}  // namespace fa::simt

fa::Index fa::device_bytes_taken() {
  simt::Registry& all = simt::registry();
  const std::scoped_lock lock(all.mutex);
  return all.bytes_taken;
}
