// The softmax between the two products of cublas/standard_attention.h.

#pragma once

#include "fa/device.h"
#include "fa/half.h"
#include "fa/shape.h"

namespace fa {

// Each row of S (B, H, Nq, Nk) becomes its softmax; keys that a causal mask hides weigh 0. A row that sees no key, or
// only scores of −inf, becomes zero. T is float, fa::half or fa::bfloat16; the sums are float.
template <class T>
void softmax_in_place(hbm<T> s, const Shape& shape, const Options& options);

}  // namespace fa
