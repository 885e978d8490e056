// fa::hbm<T>: a pointer into HBM. Used like a T*; each access is checked against the buffer's bounds and counted.

#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "simt/block.h"
#include "simt/memory.h"

namespace fa {

namespace simt {

// Faults: outside of the buffer; after it was freed; on the host, outside of a kernel.
[[noreturn]] void stop_at_hbm(const HbmBuffer* buffer, Index at, std::uint32_t generation, Access access,
                              int elements = 1);

std::string text_of_element(const HbmBuffer* buffer, Index at);  // "q[17]"

// Notes an access of the running thread in the element's shadow, or stops. The caller holds the element's lock.
void check_hbm(HbmBuffer& buffer, Index at, Access access);

}  // namespace simt

inline namespace emulated {

template <class T>
class hbm {
 public:
  using Value = std::remove_const_t<T>;
  static_assert(std::is_trivially_copyable_v<Value>);

  hbm() = default;  // the null pointer
  hbm(std::nullptr_t) {}
  explicit hbm(simt::HbmBuffer* buffer) : buffer_(buffer), generation_(buffer->generation) {}

  // An hbm<float> is an hbm<const float>, as a float* is a const float*.
  operator hbm<const Value>() const
    requires(!std::is_const_v<T>)
  {
    hbm<const Value> pointer;
    pointer.buffer_ = buffer_;
    pointer.generation_ = generation_;
    pointer.offset_ = offset_;
    return pointer;
  }

  // What `p[i]` is when it may be written: reads and assignments are counted apart. Only what is not stored can be
  // used: `auto x = p[i]` would stand for the element here, and for its value on a GPU, so whatever follows does not
  // compile.
  class Element {
   public:
    operator Value() const&& { return pointer_.read(index_); }
    explicit operator float() const&&
      requires std::is_class_v<T>  // half precision: float(p[i])
    {
      return float(pointer_.read(index_));
    }
    Value operator=(Value value) const&& { return pointer_.write(index_, value), value; }
    Value operator=(const Element& other) const&& { return set(other.pointer_.read(other.index_)); }
    Value operator+=(Value value) const&& { return set(pointer_.read(index_) + value); }
    Value operator-=(Value value) const&& { return set(pointer_.read(index_) - value); }
    Value operator*=(Value value) const&& { return set(pointer_.read(index_) * value); }
    Value operator/=(Value value) const&& { return set(pointer_.read(index_) / value); }
    hbm operator&() const&& { return pointer_ + index_; }

    operator Value() const& = delete;  // write float x = p[i], not auto
    Value operator=(Value) const& = delete;

    // Written out, so that printf("%f", p[i]) does not compile: it would print anything but the number.
    Element(const Element& other) : pointer_(other.pointer_), index_(other.index_) {}

   private:
    friend class hbm;
    Element(const hbm& pointer, Index index) : pointer_(pointer), index_(index) {}
    Value set(Value value) const { return pointer_.write(index_, value), value; }
    hbm pointer_;
    Index index_;
  };

  auto operator[](Index index) const {
    if constexpr (std::is_const_v<T>) {
      return read(index);
    } else {
      return Element(*this, index);
    }
  }
  auto operator*() const { return (*this)[0]; }

  hbm operator+(Index elements) const {
    hbm moved = *this;
    moved.offset_ += elements;
    return moved;
  }
  hbm operator-(Index elements) const { return *this + -elements; }
  hbm& operator+=(Index elements) { return *this = *this + elements; }
  hbm& operator-=(Index elements) { return *this = *this - elements; }
  explicit operator bool() const { return buffer_ != nullptr; }
  friend bool operator==(const hbm&, const hbm&) = default;

  // For atomic operations: `update` turns the old value into the new one, and nobody comes between. The old value.
  template <class Update>
  Value update(Update update) const {
    static_assert(!std::is_const_v<T>);
    const Index at = checked(0, simt::Access::atomic);
    simt::Counter& counter = simt::running->block->counter();
    counter.read(*simt::running, *buffer_, at);
    counter.written(*simt::running, *buffer_, at);
    const simt::Lock lock(buffer_->lock_of(at));
    simt::check_hbm(*buffer_, at, simt::Access::atomic);
    Value& value = static_cast<Value*>(buffer_->data)[at];
    const Value old = value;
    value = update(old);
    return old;
  }

  // Of the `elements` elements from p[first] on, with one instruction: vectors, asynchronous copies, matrices.
  void read(Index first, int elements, Value* values) const {
    const Index at = checked(first, simt::Access::read, elements);
    simt::running->block->counter().read(*simt::running, *buffer_, at, elements);
    for (int i = 0; i < elements; ++i) values[i] = read_counted(at + i);
  }
  void write(Index first, int elements, const Value* values) const {
    const Index at = checked(first, simt::Access::write, elements);
    simt::running->block->counter().written(*simt::running, *buffer_, at, elements);
    for (int i = 0; i < elements; ++i) write_counted(at + i, values[i]);
  }

  Index byte() const { return offset_ * Index{sizeof(T)}; }  // of the buffer, which begins at a multiple of 256
  std::string text() const { return simt::text_of_element(buffer_, offset_); }

 private:
  template <class>
  friend class hbm;

  Value read(Index index) const {
    const Index at = checked(index, simt::Access::read);
    simt::running->block->counter().read(*simt::running, *buffer_, at);
    return read_counted(at);
  }
  void write(Index index, Value value) const {
    const Index at = checked(index, simt::Access::write);
    simt::running->block->counter().written(*simt::running, *buffer_, at);
    write_counted(at, value);
  }
  Value read_counted(Index at) const {
    const Value* const element = static_cast<const Value*>(buffer_->data) + at;
    if (buffer_->shadows.empty()) return *element;
    const simt::Lock lock(buffer_->lock_of(at));
    simt::check_hbm(*buffer_, at, simt::Access::read);
    return *element;
  }
  void write_counted(Index at, Value value) const {
    Value* const element = static_cast<Value*>(buffer_->data) + at;
    if (buffer_->shadows.empty()) {
      *element = value;
      return;
    }
    const simt::Lock lock(buffer_->lock_of(at));
    simt::check_hbm(*buffer_, at, simt::Access::write);
    *element = value;
  }
  Index checked(Index index, simt::Access access, int elements = 1) const {
    const Index at = offset_ + index;
    if (buffer_ == nullptr || generation_ != buffer_->generation || at < 0 || at > buffer_->elements - elements ||
        simt::running == nullptr) {
      simt::stop_at_hbm(buffer_, at, generation_, access, elements);
    }
    return at;
  }

  simt::HbmBuffer* buffer_ = nullptr;
  Index offset_ = 0;
  std::uint32_t generation_ = 0;
};

}  // namespace emulated
}  // namespace fa
