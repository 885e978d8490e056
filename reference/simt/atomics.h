// CUDA's atomic operations, on HBM and on shared memory. Each returns the old value.

#pragma once

#include <type_traits>

#include "simt/hbm.h"
#include "simt/shared.h"

namespace fa::simt {

// Blocks of one OS thread run one after another, and a fiber pauses only at barriers: nothing comes between.
template <class T, class Update>
T update(fa::SharedAddress<T> address, Update update) {
  address.check(Access::atomic);
  T& value = *address.element;
  const T old = value;
  value = update(old);
  return old;
}
template <class T, class Update>
T update(fa::hbm<T> address, Update update) {
  return address.update(update);
}

// What an address leads to: fa::hbm<T> and fa::SharedAddress<T> have a T.
template <class Address>
struct Pointee;
template <class T>
struct Pointee<fa::hbm<T>> {
  using type = T;
};
template <class T>
struct Pointee<fa::SharedAddress<T>> {
  using type = T;
};
template <class Address>
using PointeeOf = typename Pointee<Address>::type;

}  // namespace fa::simt

template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicAdd(Address address, std::type_identity_t<T> value) {
  return fa::simt::update(address, [value](T old) { return T(old + value); });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicSub(Address address, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "CUDA's atomicSub takes integers");
  return fa::simt::update(address, [value](T old) { return T(old - value); });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicMax(Address address, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "CUDA's atomicMax takes integers");
  return fa::simt::update(address, [value](T old) { return value > old ? value : old; });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicMin(Address address, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "CUDA's atomicMin takes integers");
  return fa::simt::update(address, [value](T old) { return value < old ? value : old; });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicExch(Address address, std::type_identity_t<T> value) {
  return fa::simt::update(address, [value](T) { return value; });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicCAS(Address address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>, "CUDA's atomicCAS takes integers");
  return fa::simt::update(address, [expected, value](T old) { return old == expected ? value : old; });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicOr(Address address, std::type_identity_t<T> value) {
  return fa::simt::update(address, [value](T old) { return T(old | value); });
}
template <class Address, class T = fa::simt::PointeeOf<Address>>
T atomicAnd(Address address, std::type_identity_t<T> value) {
  return fa::simt::update(address, [value](T old) { return T(old & value); });
}
