#include "simt/meter.h"

#include <algorithm>
#include <stdexcept>

namespace fa {
namespace {

std::vector<DeviceMeter*>& meters() {
  static std::vector<DeviceMeter*> alive;
  return alive;
}

void add_up(std::vector<BufferTraffic>& rows, const BufferTraffic& more) {
  const auto same = [&](const BufferTraffic& row) { return row.buffer == more.buffer; };
  const auto row = std::find_if(rows.begin(), rows.end(), same);
  if (row == rows.end()) {
    rows.push_back(more);
    return;
  }
  row->traffic = row->traffic + more.traffic;
  row->read_sectors += more.read_sectors;
  row->written_sectors += more.written_sectors;
}

}  // namespace

inline namespace emulated {

DeviceMeter::DeviceMeter(Count what) : what_(what) { meters().push_back(this); }
DeviceMeter::~DeviceMeter() { std::erase(meters(), this); }

std::vector<BufferTraffic> DeviceMeter::by_buffer() const {
  std::vector<BufferTraffic> rows;
  for (const LaunchRecord& launch : launches_) {
    for (const BufferTraffic& buffer : launch.by_buffer) add_up(rows, buffer);
  }
  return rows;
}

Traffic DeviceMeter::of(std::string_view buffer) const {
  for (const BufferTraffic& row : by_buffer()) {
    if (row.buffer == buffer) return row.traffic;
  }
  return {};
}

Traffic DeviceMeter::total() const {
  Traffic sum;
  for (const LaunchRecord& launch : launches_) sum = sum + launch.traffic;
  return sum;
}

Index DeviceMeter::read_sectors() const {
  Index sum = 0;
  for (const LaunchRecord& launch : launches_) sum += launch.read_sectors;
  return sum;
}

Index DeviceMeter::written_sectors() const {
  Index sum = 0;
  for (const LaunchRecord& launch : launches_) sum += launch.written_sectors;
  return sum;
}

std::vector<SharedTraffic> DeviceMeter::by_array() const {
  std::vector<SharedTraffic> rows;
  for (const LaunchRecord& launch : launches_) {
    if (!launch.banks_counted) {
      throw std::logic_error("DeviceMeter: " + launch.kernel + " ran without a count of bank conflicts: it takes a " +
                             "meter with fa::Count::banks, or FA_SIMT_BANKS=on");
    }
    for (const SharedTraffic& array : launch.by_array) simt::add_up(rows, array);
  }
  return rows;
}

SharedTraffic DeviceMeter::shared_of(std::string_view array) const {
  for (const SharedTraffic& row : by_array()) {
    if (row.array == array) return row;
  }
  return {std::string(array), {}, {}};
}

SharedTraffic DeviceMeter::shared_total() const {
  SharedTraffic sum{"all arrays", {}, {}};
  for (const SharedTraffic& row : by_array()) sum = {sum.array, sum.loads + row.loads, sum.stores + row.stores};
  return sum;
}

}  // namespace emulated

void simt::publish(const LaunchRecord& launch) {
  for (DeviceMeter* meter : meters()) meter->add(launch);
}

bool simt::banks_wanted() {
  return std::any_of(meters().begin(), meters().end(), [](const DeviceMeter* meter) { return meter->wants_banks(); });
}

void simt::add_up(std::vector<SharedTraffic>& rows, const SharedTraffic& more) {
  const auto same = [&](const SharedTraffic& row) { return row.array == more.array; };
  const auto row = std::find_if(rows.begin(), rows.end(), same);
  if (row == rows.end()) {
    rows.push_back(more);
    return;
  }
  row->loads = row->loads + more.loads;
  row->stores = row->stores + more.stores;
}

}  // namespace fa
