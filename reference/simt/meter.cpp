#include "simt/meter.h"

#include <algorithm>

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

DeviceMeter::DeviceMeter() { meters().push_back(this); }
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

}  // namespace emulated

void simt::publish(const LaunchRecord& launch) {
  for (DeviceMeter* meter : meters()) meter->add(launch);
}

}  // namespace fa
