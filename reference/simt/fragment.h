// nvcuda::wmma::fragment: the part of a matrix that a lane holds.
//
// Which elements these are, CUDA leaves open. A kernel that relies on what a GPU happens to do should get wrong numbers
// here, so the emulator deals them out from the last lane to the first.

#pragma once

#include <algorithm>
#include <type_traits>

#include "fa/half.h"
#include "fa/poison.h"
#include "simt/block.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr bool accumulates = std::is_same_v<Use, accumulator>;
  static constexpr bool column_major = std::is_same_v<Layout, col_major>;
  static_assert(m == 16 && n == 16 && k == 16, "the emulator has matrices of 16 x 16");
  static_assert(accumulates ? std::is_same_v<T, float> : fa::HalfPrecision<T>,
                "the emulator multiplies fa::half or fa::bfloat16, and sums up float");
  static_assert(accumulates == std::is_void_v<Layout>, "matrix_a and matrix_b have a layout, an accumulator has none");

  static constexpr int num_elements = 8;
  T x[num_elements];

  fragment() { std::fill_n(x, num_elements, fa::unwritten<T>()); }
};

}  // namespace nvcuda::wmma

namespace fa::simt {

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

struct Position {
  int row, column;
};

// Where x[i] of a lane belongs. Those of matrix_a and matrix_b are 8 neighbors in memory, as ldmatrix reads them; those
// of an accumulator are pairs in a row, as mma leaves them.
template <class Fragment>
constexpr Position position_of(int lane, int i) {
  const int from_last = int(kWarp) - 1 - lane;
  if constexpr (Fragment::accumulates) {
    return {from_last / 4 + i / 2 % 2 * 8, from_last % 4 * 2 + i % 2 + i / 4 * 8};
  } else {
    const int across = from_last % 16, along = from_last / 16 * 8 + i;
    return Fragment::column_major ? Position{along, across} : Position{across, along};
  }
}

[[noreturn, gnu::cold]] void stop_at_unset(const Thread& thread);

// Fault: elements that nothing has set. Poison that a kernel has computed with is still poison.
template <class Fragment>
void require_set(const Thread& thread, const Fragment& fragment) {
  if (!thread.block->kernel().settings.checks) return;
  const auto poisoned = [](const auto& value) { return is_poison(value); };
  if (std::any_of(fragment.x, fragment.x + Fragment::num_elements, poisoned)) stop_at_unset(thread);
}

}  // namespace fa::simt
