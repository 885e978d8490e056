// fa::hbm<T> on a GPU: another way to write T* __restrict__, so it costs nothing. (Checked once, with nvcc 13.0 for
// sm_90: a kernel with fa::hbm and the same one with raw pointers gave the same machine code, byte by byte.)

#pragma once

namespace fa {

template <class T>
using hbm = T* __restrict__;

}  // namespace fa
