// fa::Vector: several neighboring elements, read or written with one instruction.

#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "simt/atomics.h"
#include "simt/fault.h"
#include "simt/hbm.h"
#include "simt/shared.h"

namespace fa {

namespace simt {

// Fault: an address, of HBM or of shared memory, that is not a multiple of `bytes`.
template <class Address>
void require_alignment(const char* what, const Address& address, Index bytes) {
  if (address.byte() % bytes == 0) return;
  stop(*running, std::string(what) + " at " + address.text() + ", which begins at byte " +
                     std::to_string(address.byte()) + ": must be a multiple of " + std::to_string(bytes));
}

}  // namespace simt

inline namespace emulated {

template <class T, int n>
struct alignas(n * sizeof(T)) Vector {
  static constexpr int bytes = n * int{sizeof(T)};
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "a GPU loads 4, 8 or 16 bytes at once");

  T elements[n];
  T& operator[](int i) { return elements[i]; }
  const T& operator[](int i) const { return elements[i]; }
};

template <int n, class Address, class T = std::remove_const_t<simt::PointeeOf<Address>>>
Vector<T, n> load(Address from) {
  simt::require_alignment("fa::load", from, Vector<T, n>::bytes);
  Vector<T, n> vector;
  from.read(0, n, vector.elements);
  return vector;
}

template <class Address, class T, int n>
void store(Address to, const Vector<T, n>& vector) {
  static_assert(std::is_same_v<simt::PointeeOf<Address>, T>, "a vector is stored to elements of its own type");
  simt::require_alignment("fa::store", to, Vector<T, n>::bytes);
  to.write(0, n, vector.elements);
}

}  // namespace emulated
}  // namespace fa
