// The longer tests of what happens to the state from K/V tile to K/V tile.

#pragma once

#include <utility>
#include <vector>

#include "test_forward.h"
#include "test_support.h"

namespace support {

// After every K/V tile, partial holds the result of the queries that will meet another tile, out that of the others.
template <class T>
void check_invariant(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  const fa::Inputs inputs = inputs_of<T>(shape);
  Operands<T> operands(inputs, shape);
  for (fa::Index tile = 0; tile * tiles.Bc < shape.Nk; ++tile) {
    CAPTURE(shape, options, tiles, tile);
    operands.absorb(options, tiles, tile, tile + 1);
    const Result got = operands.result();
    const fa::Index keys = (tile + 1) * tiles.Bc;
    const ExactState exact = exact_state(inputs, shape, options, keys);
    std::vector<float> so_far;
    for (fa::Index element = 0; element < fa::query_elements(shape); ++element) {
      const fa::Index i = element / shape.D % shape.Nq;
      const bool goes_on = keys < shape.Nk && meets(shape, options, tiles.Bc, i, keys);
      so_far.push_back((goes_on ? got.partial : got.out)[std::size_t(element)]);
    }
    const std::initializer_list<fa::Extent> rows{{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}};
    fa::check_close("m", got.m, exact.m, rows, float_tolerance);
    fa::check_close("l", got.l, exact.l, rows, float_tolerance);
    fa::check_close("partial, or out", so_far, exact.out,
                    {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                    fa::half_tolerance<T>(inputs.q, inputs.k, inputs.v, exact.out, shape, options));
  }
}

inline void check_one_launch_or_many() {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 33, .Nk = 70, .D = 64};
  const fa::Tiles tiles{.Br = 32, .Bc = 16};
  in_both_formats([&]<class T>() {
    for (const fa::Options& options : {fa::Options{}, {.causal = true}}) {
      const fa::Inputs inputs = inputs_of<T>(shape);
      Operands<T> operands(inputs, shape);
      for (const auto& [first, end] : {std::pair{0, 1}, {1, 1}, {1, 4}, {4, 100}}) {
        operands.absorb(options, tiles, first, end);
      }
      check_same_bits(operands.result(), run<T>(Kernel::exercise, inputs, shape, options, tiles));
    }
  });
}

inline void check_bytes_at_512() {
  const fa::Shape shape{.Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic by_hand{1601536, 1015808};
  check_traffic("formula", by_hand, fa::v1_tensor_core_traffic(shape, {}, {lesson::kRows, 64}));
  CHECK(fa::v1_forward_traffic(shape, {}, {.Br = 64, .Bc = 64}).total() == 3608576);  // lesson 06
  require_counts();
  Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(Kernel::exercise, {}, {.Br = 128, .Bc = 64});
  check_traffic("count", by_hand, meter.total());
}

inline void check_sectors(fa::Index D) {
  const fa::Shape shape{.Nq = 64, .Nk = 48, .D = D};
  Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
  fa::DeviceMeter meter;
  operands.forward(Kernel::exercise, {}, {.Br = 32, .Bc = 16});
  const fa::Traffic formula = fa::v1_tensor_core_traffic(shape, {}, {lesson::kRows, 16});
  check_traffic("in whole sectors", formula, {32 * meter.read_sectors(), 32 * meter.written_sectors()});
}

}  // namespace support
