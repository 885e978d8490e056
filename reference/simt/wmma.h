// CUDA's nvcuda::wmma: matrix products by a whole warp.

#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "simt/collective.h"
#include "simt/fragment.h"
#include "simt/matrix_product.h"
#include "simt/vector.h"

namespace nvcuda::wmma {

enum layout_t { mem_row_major, mem_col_major };

}  // namespace nvcuda::wmma

namespace fa::simt {

void require_ld(unsigned ld, int multiple);  // or a fault

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

  // Calls access(first, count, x) for each access to memory that the running lane makes.
  template <class Access>
  void for_each_access(Access access) const {
    require_alignment(name_of_operation(), address, 32);
    require_ld(ld, int(16 / sizeof(fragment->x[0])));
    const int lane = int(running->lane), run = !Fragment::accumulates ? 8 : column_major ? 1 : 2;
    for (int i = 0; i < Fragment::num_elements; i += run) {
      const Position at = position_of<Fragment>(lane, i);
      access(column_major ? at.column * Index{ld} + at.row : at.row * Index{ld} + at.column, run, fragment->x + i);
    }
  }
};

template <class Fragment, class Address>
void load_fragment(const Lanes<InMemory<Fragment, Address>>& lanes) {
  require_same_place(lanes);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const InNameOf reader(lanes.thread(lane));
    const InMemory<Fragment, Address>& load = lanes[lane];
    load.for_each_access([&](Index first, int count, auto* x) { load.address.read(first, count, x); });
  }
}

template <class Fragment, class Address>
void store_fragment(const Lanes<InMemory<Fragment, Address>>& lanes) {
  require_same_place(lanes);
  for (int lane = 0; lane < int(kWarp); ++lane) {
    const InMemory<Fragment, Address>& store = lanes[lane];
    require_set(lanes.thread(lane), *store.fragment);
    const InNameOf writer(lanes.thread(lane));
    store.for_each_access([&](Index first, int count, auto* x) { store.address.write(first, count, x); });
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
void multiply_fragments(const Lanes<Factors<A, B>>& lanes) {
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
  meet_all<load_fragment<Fragment, Address>>("load_matrix_sync", operands, site);
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
  fa::simt::meet_all<fa::simt::store_fragment<Fragment, Address>>("store_matrix_sync", operands, site);
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
  fa::simt::meet_all<fa::simt::multiply_fragments<A, B>>("mma_sync", factors, site);
}

}  // namespace nvcuda::wmma

// What kernels do with tiles in shared memory is compiled once, in wmma.cpp: it takes longer than a kernel itself.
namespace fa::simt {

namespace wmma = nvcuda::wmma;

template <class Use, class T, class Layout>
using LoadFromTile = Lanes<InMemory<wmma::fragment<Use, 16, 16, 16, T, Layout>, SharedAddress<T>>>;
template <class T, class LayoutOfB>
using ProductOfTiles = Lanes<Factors<wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major>,
                                     wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LayoutOfB>>>;
using StoreToTile = Lanes<InMemory<const Accumulator, SharedAddress<float>>>;

#define FA_SIMT_WMMA(keyword, T)                                                                \
  keyword template void load_fragment(const LoadFromTile<wmma::matrix_a, T, wmma::row_major>&); \
  keyword template void load_fragment(const LoadFromTile<wmma::matrix_b, T, wmma::row_major>&); \
  keyword template void load_fragment(const LoadFromTile<wmma::matrix_b, T, wmma::col_major>&); \
  keyword template void multiply_fragments(const ProductOfTiles<T, wmma::row_major>&);          \
  keyword template void multiply_fragments(const ProductOfTiles<T, wmma::col_major>&)
FA_SIMT_WMMA(extern, half);
FA_SIMT_WMMA(extern, bfloat16);
extern template void store_fragment(const StoreToTile&);

}  // namespace fa::simt
