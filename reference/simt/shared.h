// Shared memory: fa::shared<float, 32, 33>, an array of a size known to the compiler, and fa::DynamicShared, which
// deals out the bytes that the launch asked for. Both know their bounds, and who touched an element since which
// barrier.

#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <type_traits>

#include "simt/block.h"
#include "simt/shared_storage.h"

namespace fa {
inline namespace emulated {

// One element of shared memory, by its address: what &tile[r][c] is. For atomic operations, and for accesses to several
// neighbors at once: vectors, asynchronous copies, matrices.
template <class T>
struct SharedAddress {
  T* element = nullptr;
  simt::Shadow* shadow = nullptr;  // null: nobody looks, neither the checks nor those who count bank conflicts
  simt::SharedStorage* storage = nullptr;

  // Every access to shared memory comes here: of a thread, to `elements` neighbors with one instruction.
  void check(simt::Access access, int elements = 1) const {
    if (shadow == nullptr) return;
    if (simt::counting_banks) simt::count_banks(*storage, index(), elements, access);
    for (int i = 0; i < elements; ++i) {
      if (access == simt::Access::read && note_common_read(shadow[i], *simt::running)) continue;
      simt::check_shared(*storage, index() + i, access);
    }
  }
  void check_span(simt::Access access, int elements) const {
    if (index() < 0 || index() > storage->layout.elements() - elements) {
      simt::stop_at_span(*storage, index(), elements, access);
    }
    check(access, elements);
  }

  // The `elements` elements from the one `first` places on.
  void read(Index first, int elements, T* values) const {
    const SharedAddress begin = *this + first;
    begin.check_span(simt::Access::read, elements);
    std::copy_n(begin.element, elements, values);
  }
  void write(Index first, int elements, const T* values) const {
    const SharedAddress begin = *this + first;
    begin.check_span(simt::Access::write, elements);
    std::copy_n(values, elements, begin.element);
  }

  SharedAddress operator+(Index elements) const {
    return {element + elements, shadow == nullptr ? nullptr : shadow + elements, storage};
  }
  Index index() const { return element - reinterpret_cast<T*>(storage->data); }  // in its array
  Index byte() const { return storage->offset + index() * Index{sizeof(T)}; }    // what alignment is about
  std::string text() const { return storage->text_of_element(index()); }
  friend bool operator==(const SharedAddress&, const SharedAddress&) = default;
};

// What tile[r][c] is: reads and assignments are told apart. Only what is not stored can be used: `auto x = tile[r][c]`
// would stand for the element here, and for its value on a GPU, so whatever follows does not compile.
template <class T>
class SharedElement {
 public:
  explicit SharedElement(const SharedAddress<T>& address) : address_(address) {}
  // Written out, so that printf("%f", tile[i]) does not compile: it would print anything but the number.
  SharedElement(const SharedElement& other) : address_(other.address_) {}

  operator T() const&& { return get(); }
  explicit operator float() const&&
    requires std::is_class_v<T>  // half precision: float(tile[r][c])
  {
    return float(get());
  }
  T operator=(T value) const&& { return set(value); }
  T operator=(const SharedElement& other) const&& { return set(other.get()); }
  T operator+=(T value) const&& { return set(get() + value); }
  T operator-=(T value) const&& { return set(get() - value); }
  T operator*=(T value) const&& { return set(get() * value); }
  T operator/=(T value) const&& { return set(get() / value); }
  SharedAddress<T> operator&() const&& { return address_; }

  operator T() const& = delete;  // write float x = tile[r][c], not auto
  T operator=(T) const& = delete;

 private:
  T get() const {
    address_.check(simt::Access::read);
    return *address_.element;
  }
  T set(T value) const {
    address_.check(simt::Access::write);
    return *address_.element = value;
  }

  SharedAddress<T> address_;
};

// An array in shared memory, or a part of one: the rest after some indices. Cheap to copy.
template <class T, int Rank>
class SharedSpan {
 public:
  SharedSpan() = default;
  SharedSpan(const SharedAddress<T>& first, const std::array<int, Rank>& extents) : first_(first), extents_(extents) {}

  auto operator[](Index index) const {
    if (std::uint64_t(index) >= std::uint64_t(extents_[0])) {
      simt::stop_at_index(first_.storage, Rank, index, extents_[0]);
    }
    Index stride = 1;
    for (std::size_t rank = 1; rank < Rank; ++rank) stride *= extents_[rank];
    const SharedAddress<T> address = first_ + index * stride;
    if constexpr (Rank == 1) {
      return SharedElement<T>(address);
    } else {
      std::array<int, Rank - 1> rest{};
      for (std::size_t rank = 1; rank < Rank; ++rank) rest[rank - 1] = extents_[rank];
      return SharedSpan<T, Rank - 1>(address, rest);
    }
  }

  friend bool operator==(const SharedSpan&, const SharedSpan&) = default;

 private:
  SharedAddress<T> first_;
  std::array<int, Rank> extents_{};
};

namespace detail {
template <class T>
SharedAddress<T> first_of(simt::SharedStorage& storage) {
  const bool looked_at = simt::running->block->looks_at_shared();
  return {reinterpret_cast<T*>(storage.data), looked_at ? storage.shadows.data() : nullptr, &storage};
}
}  // namespace detail

template <class T>
using SharedArray = SharedSpan<T, 1>;
template <class T>
using SharedMatrix = SharedSpan<T, 2>;

// `__shared__ fa::shared<float, Rows, Columns> tile;` It belongs to the block that runs on this OS thread.
template <class T, int... Extents>
class shared {
  static constexpr int kRank = sizeof...(Extents);
  static_assert(1 <= kRank && kRank <= simt::kMostRanks, "shared memory arrays have 1 to 3 dimensions");
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit shared(Place declared = Place::here())
      : memory_(std::make_unique<T[]>((std::size_t{1} * ... * std::size_t{Extents}))) {
    storage_.layout.declared = declared;
    storage_.layout.rank = kRank;
    int dimension = 0;
    ((storage_.layout.extents[std::size_t(dimension++)] = Extents), ...);
    storage_.layout.element_bytes = sizeof(T);
    storage_.data = reinterpret_cast<std::byte*>(memory_.get());
    storage_.ordinal = simt::next_ordinal(declared);
  }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  auto operator[](Index index) {
    const simt::Thread& thread = *simt::running;
    if (storage_.block_serial != simt::block_serial_of(thread.now)) thread.block->use_static_shared(storage_);
    return SharedSpan<T, kRank>(detail::first_of<T>(storage_), {Extents...})[index];
  }

 private:
  std::unique_ptr<T[]> memory_;
  simt::SharedStorage storage_;
};

// Deals out the block's dynamic shared memory, from the front. Every thread must ask for the same, in the same order.
// Each region begins at a multiple of 16 bytes.
class DynamicShared {
 public:
  template <class T>
  SharedArray<T> array(const char* name, int elements) {
    const simt::SharedLayout layout{.name = name, .rank = 1, .extents = {elements, 1, 1}, .element_bytes = sizeof(T)};
    return {detail::first_of<T>(take(layout)), {elements}};
  }
  template <class T>
  SharedMatrix<T> matrix(const char* name, int rows, int columns) {
    const simt::SharedLayout layout{.name = name, .rank = 2, .extents = {rows, columns, 1}, .element_bytes = sizeof(T)};
    return {detail::first_of<T>(take(layout)), {rows, columns}};
  }

 private:
  simt::SharedStorage& take(const simt::SharedLayout& layout) {
    simt::SharedStorage& storage = simt::running->block->dynamic_shared(regions_++, offset_, layout);
    offset_ += shared_bytes<std::byte>(layout.bytes());
    return storage;
  }

  std::size_t regions_ = 0;
  Index offset_ = 0;
};

}  // namespace emulated
}  // namespace fa
