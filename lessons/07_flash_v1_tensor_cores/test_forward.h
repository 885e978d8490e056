// What both kernels of lesson 07 promise of the whole result.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "test_steps.h"
#include "test_support.h"

namespace support {

// A kernel with the tiles that its tests take: both ways round, smaller and larger than what they cut.
struct Subject {
  Kernel kernel;
  std::vector<fa::Tiles> tiles;
};
inline const Subject exercise{Kernel::exercise, {{.Br = 16, .Bc = 16}, {.Br = 48, .Bc = 32}, {.Br = 32, .Bc = 80}}};
inline const Subject given{Kernel::given, {{.Br = 16, .Bc = 64}, {.Br = 48, .Bc = 128}}};

// One, and one more and one less than a multiple of 16; Nq ≠ Nk both ways; B ≠ H; no keys; no queries.
inline constexpr fa::Shape ragged_shapes[] = {
    {.B = 1, .H = 1, .Nq = 1, .Nk = 1, .D = 64},    {.B = 1, .H = 2, .Nq = 15, .Nk = 16, .D = 128},
    {.B = 2, .H = 3, .Nq = 17, .Nk = 17, .D = 64},  {.B = 1, .H = 2, .Nq = 1, .Nk = 8, .D = 64},
    {.B = 2, .H = 1, .Nq = 63, .Nk = 65, .D = 64},  {.B = 1, .H = 3, .Nq = 65, .Nk = 31, .D = 64},
    {.B = 1, .H = 1, .Nq = 33, .Nk = 63, .D = 128}, {.B = 1, .H = 1, .Nq = 127, .Nk = 127, .D = 64},
    {.B = 3, .H = 2, .Nq = 5, .Nk = 0, .D = 64},    {.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 128},
    {.B = 1, .H = 1, .Nq = 9, .Nk = 145, .D = 64},
};

// Whether query i meets key j: whether it, or a later query of its group of 16, sees a key of j's tile. All meet the
// first tile.
inline bool meets(const fa::Shape& shape, const fa::Options& options, fa::Index Bc, fa::Index i, fa::Index j) {
  const fa::Index last = std::min(i / lesson::kRows * lesson::kRows + lesson::kRows, shape.Nq) - 1;
  const fa::Index first_key = j / Bc * Bc;
  return first_key == 0 || fa::visible_keys(shape, options, last) > first_key;
}

template <class T>
void check_against_oracle(Kernel kernel, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                          const fa::Tiles& tiles) {
  CAPTURE(shape, options, tiles);
  fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  Result got = run<T>(kernel, inputs, shape, options, tiles);
  fa::check_close("out", got.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::half_tolerance<T>(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  const std::initializer_list<fa::Extent> rows{{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}};
  const fa::Tolerance tolerance = fa::lse_tolerance(inputs.q, inputs.k, shape, options);
  fa::check_close("m + ln l", got.lse(), oracle.lse, rows, tolerance);
  // What m is beside an l of NaN is left open.
  for (std::size_t row = 0; row < got.m.size(); ++row) {
    if (std::isnan(oracle.l[row])) oracle.m[row] = got.m[row] = fa::nan;
  }
  fa::check_close("m", got.m, oracle.m, rows, tolerance);
}

// With and without a causal mask.
template <class T>
void check_both_masks(Kernel kernel, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Tiles& tiles,
                      std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) {
    check_against_oracle<T>(kernel, inputs, shape, {.causal = causal, .scale = scale}, tiles);
  }
}

inline void check_ragged_shapes(const Subject& subject) {
  in_both_formats([&]<class T>() {
    for (const fa::Shape& shape : ragged_shapes) {
      for (const fa::Tiles& tiles : subject.tiles) {
        check_both_masks<T>(subject.kernel, inputs_of<T>(shape), shape, tiles);
      }
    }
  });
}

inline void check_kinds_and_scales(const Subject& subject) {
  in_both_formats([&]<class T>() {
    const fa::Shape shape{.B = 1, .H = 2, .Nq = 33, .Nk = 47, .D = 64};
    for (const fa::InputKind kind : fa::all_input_kinds) {
      INFO("inputs: " << fa::name_of(kind));
      check_both_masks<T>(subject.kernel, inputs_of<T>(shape, kind), shape, subject.tiles[0]);
    }
    for (const float scale : {0.0f, -0.7f, -2.0f, 100.0f}) {
      check_both_masks<T>(subject.kernel, inputs_of<T>(shape), shape, subject.tiles[0], scale);
    }
  });
}

inline void check_rows_without_keys(const Subject& subject) {
  const fa::Shape causal{.B = 2, .H = 1, .Nq = 40, .Nk = 24, .D = 64};  // queries 0 to 15 of each head see none
  const fa::Shape no_keys{.B = 1, .H = 2, .Nq = 17, .Nk = 0, .D = 128};
  in_both_formats([&]<class T>() {
    for (const fa::Shape& shape : {causal, no_keys}) {
      const Result got = run<T>(subject.kernel, inputs_of<T>(shape), shape, {.causal = true}, subject.tiles[0]);
      const fa::Index rows = shape.Nk == 0 ? shape.Nq : shape.Nq - shape.Nk;
      const std::vector<double> zeros(std::size_t(rows * shape.D)),
          infinities(std::size_t(rows), fa::negative_infinity);
      for (fa::Index head = 0; head < fa::heads(shape); ++head) {
        CAPTURE(shape, head);
        const auto first_rows = [&](const std::vector<float>& all, fa::Index columns) {
          return std::span(all).subspan(std::size_t(head * shape.Nq * columns), std::size_t(rows * columns));
        };
        fa::check_close("out", first_rows(got.out, shape.D), zeros, {{"i", rows}, {"d", shape.D}}, {});
        fa::check_close("m", first_rows(got.m, 1), infinities, {{"i", rows}}, {});
        fa::check_close("l", first_rows(got.l, 1), std::span(zeros).first(std::size_t(rows)), {{"i", rows}}, {});
      }
    }
  });
}

// Under a mask, queries 0 to 2 do not see key 5, and queries 0 to 17 do not see key 20, which stands behind the last
// one that the first 16 queries see. Tensor cores multiply both all the same. Where Nq = Nk, the last of 16 queries
// sees whole tiles of 16 keys.
inline void check_nan(const Subject& subject) {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 35, .Nk = 37, .D = 64}, square{.Nq = 48, .Nk = 48, .D = 64};
  std::vector<fa::Inputs> all = fa::inputs_with_nan(shape);
  const auto add = [&all](const fa::Shape& of, fa::Index key, float value) {
    all.push_back(fa::make_inputs(of));
    all.back().v.at(std::size_t((key + 1) * of.D - 1)) = value;
  };
  add(shape, 5, -fa::infinity);
  add(shape, 20, fa::nan);
  add(shape, 20, fa::infinity);
  in_both_formats([&]<class T>() {
    for (const fa::Tiles& tiles : {subject.tiles[0], subject.tiles[1]}) {
      for (const fa::Inputs& inputs : all) {
        check_both_masks<T>(subject.kernel, inputs_of<T>(inputs), shape, tiles);
      }
      fa::Inputs inputs = fa::make_inputs(square);
      inputs.v.at(std::size_t(40 * square.D + 3)) = fa::nan;
      check_both_masks<T>(subject.kernel, inputs_of<T>(inputs), square, tiles);
    }
  });
}

// Numbers with D = 1, as the first of 64 columns.
inline std::vector<float> in_first_column(const std::vector<float>& values) {
  std::vector<float> matrix(64 * values.size());
  for (std::size_t row = 0; row < values.size(); ++row) matrix[64 * row] = values[row];
  return matrix;
}

inline void check_infinite_scores(const Subject& subject) {
  fa::Shape shape = fa::infinite_scores_shape;
  shape.D = 64;
  in_both_formats([&]<class T>() {
    for (const fa::Inputs& one : fa::inputs_with_infinite_scores()) {
      CAPTURE(one.q, one.k);
      const fa::Inputs inputs{
          .q = in_first_column(one.q), .k = in_first_column(one.k), .v = in_first_column(one.v), .dout = {}};
      check_both_masks<T>(subject.kernel, inputs, shape, subject.tiles[0], 1.0f);
    }
  });
}

// m, l and the first column of out of one query with these scores, of all tiles in one launch.
template <class T>
void check_row(Kernel kernel, const std::vector<float>& keys, const std::vector<float>& values, float scale,
               const fa::Tiles& tiles, const std::vector<double>& expected) {
  const fa::Shape shape{.Nq = 1, .Nk = fa::Index(keys.size()), .D = 64};
  const fa::Inputs inputs{
      .q = in_first_column({1}), .k = in_first_column(keys), .v = in_first_column(values), .dout = {}};
  const Result got = run<T>(kernel, inputs, shape, {.scale = scale}, tiles);
  const std::vector<float> state{got.m[0], got.l[0], got.out[0]};
  fa::check_close("(m, l, out)", state, expected, {{"component", 3}}, {.relative = 1e-6, .normwise = 1e-6});
}

// A finite number that stands for −inf is a score like any other.
inline void check_low_scores(const Subject& subject) {
  in_both_formats([&]<class T>() {
    for (const float low : {2e6f, 2e9f, 2e30f, std::numeric_limits<float>::max()}) {
      CAPTURE(low);
      check_row<T>(subject.kernel, {-1, -1, -1}, {1, 3, 5}, low, subject.tiles[0], {-double(low), 3, 3});
    }
  });
}

inline void check_lse_of_logits(const Subject& subject) {
  const fa::Shape shape{.Nq = 5, .Nk = 100, .D = 64};
  in_both_formats([&]<class T>() {
    for (const float size : {-1e3f, 1e3f}) {
      fa::Inputs inputs = fa::make_inputs(shape);
      inputs.q = in_first_column({1, 1, 1, 1, 1});
      for (float& key : inputs.k) key += size;
      inputs = inputs_of<T>(inputs);
      const fa::Options options{.scale = 1.0f};
      const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
      fa::check_close("m + ln l", run<T>(subject.kernel, inputs, shape, options, subject.tiles[0]).lse(), oracle.lse,
                      {{"i", 5}}, {.absolute = 0, .relative = 1e-6, .normwise = 1e-6});
    }
  });
}

}  // namespace support
