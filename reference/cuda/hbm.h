// fa::hbm<T> on a GPU: another way to write T* __restrict__, so it costs nothing.

#pragma once

namespace fa {

template <class T>
using hbm = T* __restrict__;

}  // namespace fa
