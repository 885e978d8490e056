#include "fa/hbm.h"

#include <stdexcept>

namespace fa {

void detail::throw_out_of_bounds(const HbmBuffer& buffer, const char* what, Index index) {
  throw std::out_of_range("HBM buffer '" + buffer.name + "' of " + std::to_string(buffer.elements) +
                          " elements: " + what + " of element " + std::to_string(index));
}

detail::HbmBuffer* TrafficMeter::attach(const std::string& name, Index elements) {
  for (const detail::HbmBuffer& buffer : buffers_) {
    if (buffer.name == name) throw std::invalid_argument("name = '" + name + "': a buffer of that name is attached");
  }
  return &buffers_.emplace_back(detail::HbmBuffer{name, elements, {}});
}

Traffic TrafficMeter::total() const {
  Traffic sum;
  for (const detail::HbmBuffer& buffer : buffers_) sum = sum + buffer.traffic;
  return sum;
}

Traffic TrafficMeter::of(std::string_view name) const {
  for (const detail::HbmBuffer& buffer : buffers_) {
    if (buffer.name == name) return buffer.traffic;
  }
  throw std::invalid_argument("name = '" + std::string(name) + "': no such buffer is attached");
}

std::vector<std::pair<std::string, Traffic>> TrafficMeter::by_buffer() const {
  std::vector<std::pair<std::string, Traffic>> rows;
  for (const detail::HbmBuffer& buffer : buffers_) rows.emplace_back(buffer.name, buffer.traffic);
  return rows;
}

void TrafficMeter::reset() {
  for (detail::HbmBuffer& buffer : buffers_) buffer.traffic = {};
}

}  // namespace fa
