#include "simt/banks.h"

#include <algorithm>
#include <string>

#include "simt/block.h"
#include "simt/fault.h"

namespace fa::simt {
namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kPassBytes = 32 * kWordBytes;  // a word of each bank

// A list of all instructions since the last barrier is kept, so that it must end somewhere.
constexpr std::uint32_t kMostAccesses = 1u << 20;

}  // namespace

void count_banks(const SharedStorage& storage, Index at, int elements, Access access) {
  if (access == Access::atomic) return;
  running->block->banks().note(*running, storage, at, elements, access == Access::write);
}

BankCounter::Array& BankCounter::array_of(const SharedStorage& storage) {
  const auto same = [&](const Array& array) {
    return array.storage == &storage && array.name.data() == storage.layout.name.data();
  };
  const auto found = std::find_if(arrays_.begin(), arrays_.end(), same);
  return found != arrays_.end() ? *found : arrays_.emplace_back(Array{&storage, storage.layout.name, {}, {}});
}

void BankCounter::note(const Thread& thread, const SharedStorage& storage, Index at, int elements, bool write) {
  Array& array = array_of(storage);
  Stream& stream = write ? array.stores : array.loads;
  const auto element_bytes = static_cast<std::uint32_t>(storage.layout.element_bytes);
  const std::uint32_t begin = std::uint32_t(at) * element_bytes, bytes = std::uint32_t(elements) * element_bytes;
  // What is neither 8 nor 16 bytes long takes an instruction for each word.
  const std::uint32_t place_bytes = bytes == 8 || bytes == 16 ? bytes : kWordBytes;
  for (std::uint32_t place = begin / place_bytes; place * place_bytes < begin + bytes; ++place) {
    note(stream, thread, place, place_bytes);
  }
  if (stream.lanes[thread.index].accesses < kMostAccesses) return;
  stop(thread, "shared memory: " + std::to_string(kMostAccesses) + (write ? " writes to '" : " reads of '") +
                   storage.name() + "' by one thread with no barrier between: too many to count their bank conflicts");
}

void BankCounter::note(Stream& stream, const Thread& thread, std::uint32_t place, std::uint32_t place_bytes) {
  const std::uint64_t interval = thread.warp->interval;
  const std::size_t warp = thread.index / kWarp;
  if (stream.lanes.size() <= thread.index) stream.lanes.resize(thread.index + 1);
  if (stream.requests.size() <= warp) stream.requests.resize(warp + 1);
  Stream::Lane& lane = stream.lanes[thread.index];
  Stream::Requests& requests = stream.requests[warp];
  if (lane.interval != interval) lane = {interval, 0};
  if (requests.interval != interval) {
    requests.interval = interval;
    requests.list.clear();
  }
  if (requests.list.size() <= lane.accesses) {
    requests.list.emplace_back();
    ++stream.count.requests;
  }
  Request& request = requests.list[lane.accesses++];

  // Places of one size share all their banks or none.
  const std::uint32_t slots = kPassBytes / place_bytes, low = slots - 1;  // slots of a group, and lanes, too
  const std::uint32_t slot = (thread.lane & ~low) + (place & low);
  std::uint8_t in_its_slot = 1;
  if ((request.taken >> slot & 1u) == 0) {
    request.taken |= 1u << slot;
    request.place[slot] = place;
  } else {
    if (request.place[slot] == place) return;
    ++in_its_slot;
    for (const Request::Place& other : request.conflicts) {
      if (other.slot != slot) continue;
      if (other.place == place) return;
      ++in_its_slot;
    }
    request.conflicts.push_back({slot, place});
  }
  std::uint8_t& passes = request.passes[thread.lane / 8 & ~(low / 8)];
  if (in_its_slot <= passes) return;
  passes = in_its_slot;
  ++stream.count.passes;
  if (passes > 1) ++stream.count.conflicts;
}

std::vector<SharedTraffic> BankCounter::by_array() const {
  std::vector<SharedTraffic> rows;
  for (const Array& array : arrays_) {
    const std::string name = array.name.empty() ? array.storage->name() : std::string(array.name);
    rows.push_back({name, array.loads.count, array.stores.count});
  }
  return rows;
}

}  // namespace fa::simt
