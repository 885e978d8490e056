// fa::mma: matrix products by a whole warp, with the instructions mma.m16n8k16 and ldmatrix of PTX. Which lane holds
// which element is known; fa/tensor_core.h says it.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "fa/half.h"
#include "simt/collective.h"
#include "simt/matrix_product.h"
#include "simt/vector.h"

namespace fa {

namespace simt {

// Two numbers of half precision in a register, as a GPU keeps them.
template <class T>
unsigned paired(T low, T high) {
  return std::bit_cast<std::uint16_t>(low) | unsigned{std::bit_cast<std::uint16_t>(high)} << 16;
}
template <class T>
float low_of(unsigned pair) {
  return float(std::bit_cast<T>(std::uint16_t(pair & 0xffff)));
}
template <class T>
float high_of(unsigned pair) {
  return float(std::bit_cast<T>(std::uint16_t(pair >> 16)));
}

}  // namespace simt

namespace mma {

template <class T>
struct A {
  unsigned pair[4];
};
template <class T>
struct B {
  unsigned pair[2];
};
struct Accumulator {
  float x[4];
};

template <class T>
unsigned pack(float low, float high) {
  return simt::paired(T(low), T(high));
}

}  // namespace mma

namespace simt {

// ldmatrix: four matrices of 8 x 8. Lane l names, and reads, row l % 8 of matrix l / 8; it gets a pair of each matrix.
template <class T>
struct LoadOfTile {
  SharedMatrix<T> tile;
  int row, column;
  std::array<unsigned*, 4> pairs;  // of the four matrices

  bool same_place(const LoadOfTile& other) const {
    return tile == other.tile && row == other.row && column == other.column;
  }
  std::string text() const {
    return (&tile[0][0]).text() + ", row = " + std::to_string(row) + ", col = " + std::to_string(column);
  }
};

enum class Second { below, beside };  // of the four matrices: where it lies, seen from the first
enum class Pair { in_row, in_column };

template <class T, Second second, Pair pair>
void load_tile(const Lanes<LoadOfTile<T>>& lanes) {
  require_same_place(lanes);
  T matrices[4][8][8];
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const InNameOf reader(lanes.thread(lane));
    const LoadOfTile<T>& load = lanes[lane];
    const int number = lane / 8, below = second == Second::below ? number % 2 : number / 2,
              beside = second == Second::below ? number / 2 : number % 2;
    const auto row = load.tile[load.row + 8 * below + lane % 8];
    const int column = load.column + 8 * beside;
    static_cast<void>(row[column + 7]);  // is there such a column?
    const SharedAddress<T> first = &row[column];
    require_alignment(name_of_operation(), first, 16);
    first.read(0, 8, matrices[number][lane % 8]);
  }
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const int group = lane / 4, low = lane % 4 * 2;
    for (int number = 0; number < 4; ++number) {
      const auto& matrix = matrices[number];
      *lanes[lane].pairs[std::size_t(number)] = pair == Pair::in_row
                                                    ? paired(matrix[group][low], matrix[group][low + 1])
                                                    : paired(matrix[low][group], matrix[low + 1][group]);
    }
  }
}

template <class T>
struct Product {
  mma::Accumulator* c;
  const mma::A<T>* a;
  const mma::B<T>* b;
};

template <class T>
void multiply_pairs(const Lanes<Product<T>>& lanes) {
  float a[16][16], b[16][8], c[16][8];
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const int group = lane / 4, low = lane % 4 * 2;
    const Product<T>& product = lanes[lane];
    for (int i = 0; i < 4; ++i) {
      const int row = group + i % 2 * 8, column = low + i / 2 * 8;
      a[row][column] = low_of<T>(product.a->pair[i]);
      a[row][column + 1] = high_of<T>(product.a->pair[i]);
    }
    for (int i = 0; i < 2; ++i) {
      b[low + i * 8][group] = low_of<T>(product.b->pair[i]);
      b[low + i * 8 + 1][group] = high_of<T>(product.b->pair[i]);
    }
    for (int i = 0; i < 4; ++i) c[group + i / 2 * 8][low + i % 2] = product.c->x[i];
  }
  multiply_add(a, b, c);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const int group = lane / 4, low = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) lanes[lane].c->x[i] = c[group + i / 2 * 8][low + i % 2];
  }
}

}  // namespace simt

namespace mma {

// All lanes of a warp call these, with the same tile, row and column.

template <class T>
void multiply(Accumulator& c, const A<T>& a, const B<T>& b, simt::CallSite site = simt::CallSite::here()) {
  simt::Product<T> product{&c, &a, &b};
  simt::meet_all<simt::multiply_pairs<T>>("fa::mma::multiply", product, site);
}

template <class T>
void load(A<T>& a, SharedMatrix<T> tile, int row, int col, simt::CallSite site = simt::CallSite::here()) {
  simt::LoadOfTile<T> operands{tile, row, col, {&a.pair[0], &a.pair[1], &a.pair[2], &a.pair[3]}};
  simt::meet_all<simt::load_tile<T, simt::Second::below, simt::Pair::in_row>>("fa::mma::load", operands, site);
}

template <class T>
void load_columns(B<T> (&b)[2], SharedMatrix<T> tile, int row, int col, simt::CallSite site = simt::CallSite::here()) {
  simt::LoadOfTile<T> operands{tile, row, col, {&b[0].pair[0], &b[0].pair[1], &b[1].pair[0], &b[1].pair[1]}};
  simt::meet_all<simt::load_tile<T, simt::Second::beside, simt::Pair::in_row>>("fa::mma::load_columns", operands, site);
}

template <class T>
void load_rows(B<T> (&b)[2], SharedMatrix<T> tile, int row, int col, simt::CallSite site = simt::CallSite::here()) {
  simt::LoadOfTile<T> operands{tile, row, col, {&b[0].pair[0], &b[0].pair[1], &b[1].pair[0], &b[1].pair[1]}};
  simt::meet_all<simt::load_tile<T, simt::Second::below, simt::Pair::in_column>>("fa::mma::load_rows", operands, site);
}

}  // namespace mma
}  // namespace fa
