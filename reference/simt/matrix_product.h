// What a tensor core computes: c += a b. A product of two numbers of half precision is exact in float; sums are rounded
// to float, from the first product to the last. A GPU adds them up in another order, and may round otherwise.

#pragma once

namespace fa::simt {

inline constexpr int kDepth = 16;

template <int rows, int columns>
void multiply_add(const float (&a)[rows][kDepth], const float (&b)[kDepth][columns], float (&c)[rows][columns]) {
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      for (int column = 0; column < columns; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
}

}  // namespace fa::simt
