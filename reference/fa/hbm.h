// fa::hbm<T>: a pointer into HBM, the large memory of a GPU. Here, on the CPU, each access through it is checked
// against the buffer's bounds and counted by a fa::TrafficMeter. It is used like a T*:
//
//   fa::TrafficMeter meter;
//   fa::hbm<const float> q = meter.buffer<const float>("q", q_values);   // attaches memory that the caller owns
//   float first = q[0];                                                  // counted: 4 bytes read
//   meter.of("q").read_bytes;                                            // 4
//
// A pointer must not outlive its meter. Counting is not synchronized: one thread at a time.

#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/byte_counts.h"
#include "fa/shape.h"

namespace fa {

namespace detail {

struct HbmBuffer {
  std::string name;
  Index elements = 0;
  Traffic traffic;
};

[[noreturn]] void throw_out_of_bounds(const HbmBuffer& buffer, const char* what, Index index);

}  // namespace detail

template <class T>
class hbm {
 public:
  using Value = std::remove_const_t<T>;

  hbm() = default;  // the null pointer: size() is 0
  hbm(T* first, detail::HbmBuffer* buffer) : first_(first), buffer_(buffer) {}

  // An hbm<float> is an hbm<const float>, as a float* is a const float*.
  operator hbm<const Value>() const
    requires(!std::is_const_v<T>)
  {
    hbm<const Value> pointer(first_, buffer_);
    return pointer + offset_;
  }

  // What `p[i]` is when it may be written: reading and assigning are counted apart.
  class Element {
   public:
    operator Value() const { return pointer_.read(index_); }
    const Element& operator=(Value value) const { return pointer_.write(index_, value), *this; }
    const Element& operator=(const Element& other) const { return *this = Value(other); }
    const Element& operator+=(Value value) const { return *this = Value(*this) + value; }
    const Element& operator-=(Value value) const { return *this = Value(*this) - value; }
    const Element& operator*=(Value value) const { return *this = Value(*this) * value; }
    const Element& operator/=(Value value) const { return *this = Value(*this) / value; }
    Element(const Element&) = default;

   private:
    friend class hbm;
    Element(const hbm& pointer, Index index) : pointer_(pointer), index_(index) {}
    hbm pointer_;
    Index index_;
  };

  // The element `index` places on. Throws std::out_of_range, naming the buffer, outside of it.
  auto operator[](Index index) const {
    if constexpr (std::is_const_v<T>) {
      return read(index);
    } else {
      return Element(*this, index);
    }
  }

  hbm operator+(Index elements) const {
    hbm moved = *this;
    moved.offset_ += elements;
    return moved;
  }

  // Elements from here to the end of the buffer.
  Index size() const { return buffer_ == nullptr ? 0 : buffer_->elements - offset_; }

 private:
  Value read(Index index) const {
    const Index at = checked("read", index);
    buffer_->traffic.read_bytes += Index{sizeof(T)};
    return first_[at];
  }
  void write(Index index, Value value) const {
    const Index at = checked("write", index);
    buffer_->traffic.written_bytes += Index{sizeof(T)};
    first_[at] = value;
  }
  Index checked(const char* what, Index index) const {
    static const detail::HbmBuffer null{"null pointer", 0, {}};
    const Index at = offset_ + index;
    if (buffer_ == nullptr) detail::throw_out_of_bounds(null, what, at);
    if (at < 0 || at >= buffer_->elements) detail::throw_out_of_bounds(*buffer_, what, at);
    return at;
  }

  T* first_ = nullptr;  // of the buffer, not of this pointer
  detail::HbmBuffer* buffer_ = nullptr;
  Index offset_ = 0;
};

class TrafficMeter {
 public:
  TrafficMeter() = default;
  TrafficMeter(const TrafficMeter&) = delete;  // pointers lead here
  TrafficMeter& operator=(const TrafficMeter&) = delete;

  // A metered pointer to the first element of `memory`, which stays the caller's. Throws std::invalid_argument when
  // the name is taken: the counts of two buffers must not flow together.
  template <class T>
  hbm<T> buffer(const std::string& name, std::span<T> memory) {
    return hbm<T>(memory.data(), attach(name, static_cast<Index>(memory.size())));
  }
  hbm<float> buffer(const std::string& name, std::vector<float>& memory) { return buffer(name, std::span(memory)); }
  hbm<const float> buffer(const std::string& name, const std::vector<float>& memory) {
    return buffer(name, std::span(memory));
  }
  hbm<const float> buffer(const std::string& name, const std::vector<float>&& memory) = delete;  // gone after the call

  Traffic total() const;
  Traffic of(std::string_view name) const;  // throws std::invalid_argument for a name that was never attached
  std::vector<std::pair<std::string, Traffic>> by_buffer() const;  // in the order of attachment
  void reset();                                                    // counts go to zero, buffers stay attached

 private:
  detail::HbmBuffer* attach(const std::string& name, Index elements);

  std::deque<detail::HbmBuffer> buffers_;  // a deque, so that pointers to its elements stay valid
};

}  // namespace fa
