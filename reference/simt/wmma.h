// CUDA's nvcuda::wmma: matrix products by a whole warp.
//
// Which lane holds which element, CUDA leaves open. Here it is what a GPU does, but with the lanes in reverse order: so
// the accesses to memory are those of a GPU, and a kernel that relies on what a GPU happens to do gets wrong numbers.

#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "fa/half.h"
#include "fa/poison.h"
#include "simt/collective.h"
#include "simt/matrix_product.h"
#include "simt/vector.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

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
void require_ld(unsigned ld, int multiple);  // or a fault

// Fault: elements that nothing has set. (Poison that a kernel computes with stays poison.)
template <class Fragment>
void require_set(const Thread& thread, const Fragment& fragment) {
  const auto poisoned = [](const auto& value) { return is_poison(value); };
  if (std::any_of(fragment.x, fragment.x + Fragment::num_elements, poisoned)) stop_at_unset(thread);
}

// What a lane brings to a load or a store.
template <class Fragment, class Address>
struct InMemory {
  Fragment* fragment;
  Address address;
  unsigned ld;        // elements from one row to the next, or from one column
  bool column_major;  // in memory

  bool same_place(const InMemory& other) const {
    return address == other.address && ld == other.ld && column_major == other.column_major;
  }
  std::string text() const {
    return address.text() + ", ld = " + std::to_string(ld) + (column_major ? ", column by column" : "");
  }

  // Calls access(first, count, values) for each access to memory that a lane makes.
  template <class Access>
  void for_each_run(int lane, Access access) const {
    const int run = !Fragment::accumulates ? 8 : column_major ? 1 : 2;
    for (int i = 0; i < Fragment::num_elements; i += run) {
      const Position at = position_of<Fragment>(lane, i);
      access(column_major ? at.column * Index{ld} + at.row : at.row * Index{ld} + at.column, run, fragment->x + i);
    }
  }
};

template <class Fragment, class Address>
void check_place(const Lanes<InMemory<Fragment, Address>>& lanes) {
  require_same_place(lanes);
  const InNameOf first(lanes.thread(0));
  require_alignment("a matrix", lanes[0].address, 32);
  require_ld(lanes[0].ld, int(16 / sizeof(Fragment::x[0])));
}

template <class Fragment, class Address>
void load_all(const Lanes<InMemory<Fragment, Address>>& lanes) {
  check_place(lanes);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const InNameOf reader(lanes.thread(lane));
    lanes[lane].for_each_run(lane, [&](Index first, int count, auto* x) { lanes[lane].address.read(first, count, x); });
  }
}

template <class Fragment, class Address>
void store_all(const Lanes<InMemory<Fragment, Address>>& lanes) {
  check_place(lanes);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const InNameOf writer(lanes.thread(lane));
    require_set(lanes.thread(lane), *lanes[lane].fragment);
    lanes[lane].for_each_run(lane,
                             [&](Index first, int count, auto* x) { lanes[lane].address.write(first, count, x); });
  }
}

template <class A, class B>
struct Factors {
  Accumulator* d;
  const A* a;
  const B* b;
  const Accumulator* c;
};

template <class A, class B>
void multiply_all(const Lanes<Factors<A, B>>& lanes) {
  float a[16][16], b[16][16], sums[16][16];
  const auto gather = [&]<class Fragment>(int lane, const Fragment& fragment, float(&matrix)[16][16]) {
    require_set(lanes.thread(lane), fragment);
    for (int i = 0; i < Fragment::num_elements; ++i) {
      const Position at = position_of<Fragment>(lane, i);
      matrix[at.row][at.column] = float(fragment.x[i]);
    }
  };
  for (int lane = 0; lane < int(kWarp); ++lane) {
    gather(lane, *lanes[lane].a, a);
    gather(lane, *lanes[lane].b, b);
    gather(lane, *lanes[lane].c, sums);
  }
  multiply_add(a, b, sums);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    for (int i = 0; i < Accumulator::num_elements; ++i) {
      const Position at = position_of<Accumulator>(lane, i);
      lanes[lane].d->x[i] = sums[at.row][at.column];
    }
  }
}

template <class Fragment, class Address>
void load(Fragment& to, const Address& from, unsigned ld, bool column_major, const CallSite& site) {
  static_assert(std::is_same_v<std::remove_const_t<PointeeOf<Address>>, std::remove_reference_t<decltype(to.x[0])>>,
                "a fragment is loaded from elements of its own type");
  InMemory<Fragment, Address> operands{&to, from, ld, column_major};
  meet_all<load_all<Fragment, Address>>("load_matrix_sync", operands, site);
}

}  // namespace fa::simt

namespace nvcuda::wmma {

// All lanes of a warp call these, with the same address, ld and layout.

template <class Use, class T, class Layout, class Address>
  requires(!std::is_void_v<Layout>)
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, Address from, unsigned ld,
                      fa::simt::CallSite site = fa::simt::CallSite::here()) {
  fa::simt::load(to, from, ld, to.column_major, site);
}
template <class Address>
void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& to, Address from, unsigned ld, layout_t layout,
                      fa::simt::CallSite site = fa::simt::CallSite::here()) {
  fa::simt::load(to, from, ld, layout == mem_col_major, site);
}

template <class Address>
void store_matrix_sync(Address to, const fragment<accumulator, 16, 16, 16, float>& from, unsigned ld, layout_t layout,
                       fa::simt::CallSite site = fa::simt::CallSite::here()) {
  static_assert(std::is_same_v<fa::simt::PointeeOf<Address>, float>, "an accumulator is stored to elements of float");
  using Fragment = const fragment<accumulator, 16, 16, 16, float>;
  fa::simt::InMemory<Fragment, Address> operands{&from, to, ld, layout == mem_col_major};
  fa::simt::meet_all<fa::simt::store_all<Fragment, Address>>("store_matrix_sync", operands, site);
}

template <class Use, class T, class Layout>
void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& to, std::type_identity_t<T> value) {
  std::fill_n(to.x, to.num_elements, value);
}

// d = a b + c
template <class T, class LayoutOfA, class LayoutOfB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const fragment<matrix_a, 16, 16, 16, T, LayoutOfA>& a,
              const fragment<matrix_b, 16, 16, 16, T, LayoutOfB>& b, const fragment<accumulator, 16, 16, 16, float>& c,
              fa::simt::CallSite site = fa::simt::CallSite::here()) {
  using A = fragment<matrix_a, 16, 16, 16, T, LayoutOfA>;
  using B = fragment<matrix_b, 16, 16, 16, T, LayoutOfB>;
  fa::simt::Factors<A, B> factors{&d, &a, &b, &c};
  fa::simt::meet_all<fa::simt::multiply_all<A, B>>("mma_sync", factors, site);
}

}  // namespace nvcuda::wmma
