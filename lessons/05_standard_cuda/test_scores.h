// What steps 1 and 2 of lesson 05 both promise: two kernels, the same scores.

#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "test_support.h"

namespace support {

using ScoresFunction = void(const fa::DeviceBuffer<float>&, const fa::DeviceBuffer<float>&, fa::DeviceBuffer<float>&,
                            const fa::Shape&, const fa::Options&);

inline std::vector<float> run_scores(ScoresFunction* function, const fa::Inputs& inputs, const fa::Shape& shape,
                                     const fa::Options& options) {
  const fa::DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k);
  fa::DeviceBuffer<float> s("s", fa::score_elements(shape));
  function(q, k, s, shape, options);
  return s.to_host();
}

// Six and eight blocks a head, partial ones among them: more rows of blocks than columns, and the other way round,
// since on a square grid it does not show when x and y are exchanged. B ≠ H, and j < 100.
inline constexpr fa::Shape kManyBlocks[] = {{.B = 2, .H = 3, .Nq = 72, .Nk = 40, .D = 3},
                                            {.B = 3, .H = 2, .Nq = 40, .Nk = 100, .D = 3}};

// Scores that say where they belong: s = 10000 head + 100 i + j, exactly.
inline void check_own_scores(ScoresFunction* function) {
  for (const fa::Shape& shape : kManyBlocks) {
    CAPTURE(shape);
    fa::Inputs inputs;
    std::vector<double> expected;
    for (fa::Index head = 0; head < fa::heads(shape); ++head) {
      for (fa::Index i = 0; i < shape.Nq; ++i)
        inputs.q.insert(inputs.q.end(), {10000.0f * float(head), float(100 * i), 1});
      for (fa::Index j = 0; j < shape.Nk; ++j) inputs.k.insert(inputs.k.end(), {1, 1, float(j)});
      for (fa::Index i = 0; i < shape.Nq; ++i) {
        for (fa::Index j = 0; j < shape.Nk; ++j) expected.push_back(double(10000 * head + 100 * i + j));
      }
    }
    fa::check_close("s", run_scores(function, inputs, shape, {.scale = 1.0f}), expected,
                    {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"j", shape.Nk}}, kExact);
  }
}

inline void check_example_scores(ScoresFunction* function) {
  const double hidden = fa::negative_infinity;
  fa::check_close("s", run_scores(function, kExampleInputs, kExample, kExampleOptions),
                  std::vector<double>{2, 0, -1, 0, 1, 1, 2, 1, 0}, {{"i", 3}, {"j", 3}}, kTight);
  fa::check_close("s, causal", run_scores(function, kExampleInputs, kExample, {.causal = true, .scale = 1.0f}),
                  std::vector<double>{2, hidden, hidden, 0, 1, hidden, 2, 1, 0}, {{"i", 3}, {"j", 3}}, kTight);
}

inline constexpr fa::Tolerance kScoresTolerance{.absolute = 1e-5, .relative = 1e-5, .normwise = 1e-6};

// Sums in double precision, with −inf where query i does not see key j.
inline std::vector<double> exact_scores(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  const double scale = options.scale ? double(*options.scale) : 1.0 / std::sqrt(double(shape.D));
  std::vector<double> scores;
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    const fa::Index head = row / shape.Nq, i = row % shape.Nq;
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      double dot = 0.0;
      for (fa::Index d = 0; d < shape.D; ++d) {
        dot += double(inputs.q[std::size_t(row * shape.D + d)]) *
               double(inputs.k[std::size_t((head * shape.Nk + j) * shape.D + d)]);
      }
      const bool visible = !options.causal || j <= i + shape.Nk - shape.Nq;
      scores.push_back(visible ? scale * dot : fa::negative_infinity);
    }
  }
  return scores;
}

inline void check_scores(ScoresFunction* function, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  const fa::Inputs inputs = fa::make_inputs(shape);
  fa::check_close("s", run_scores(function, inputs, shape, options), exact_scores(inputs, shape, options),
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"j", shape.Nk}}, kScoresTolerance);
}

inline void check_ragged_scores(ScoresFunction* function) {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) check_scores(function, shape, {.causal = causal});
  }
}

// A hidden score is −inf before the scale is: 0 · −inf would be NaN, and −0.7 · −inf would be +inf.
inline void check_hidden_scores(ScoresFunction* function) {
  for (const float scale : {0.0f, -0.7f, 3.0f}) {
    check_scores(function, {.B = 1, .H = 2, .Nq = 35, .Nk = 40, .D = 3}, {.causal = true, .scale = scale});
  }
}

#ifdef FA_CUDA

// S has more elements than 32 bits can count, even without a sign, and one head alone more than 2^31. Only the last
// queries, and the keys of the last head, have numbers; what others read is poison.
inline constexpr fa::Shape kLargeScores{.B = 1, .H = 2, .Nq = 46500, .Nk = 46400, .D = 4};
inline constexpr fa::Shape kLastQueries{.B = 1, .H = 1, .Nq = 3, .Nk = 46400, .D = 4};

inline void check_64_bit_scores(ScoresFunction* function) {
  const fa::Index elements = fa::score_elements(kLargeScores), last = elements - fa::score_elements(kLastQueries);
  if (fa::device().memory_bytes < 5 * elements) SKIP("needs 22 GB of HBM");
  const fa::Inputs inputs = fa::make_inputs(kLastQueries);
  fa::DeviceBuffer<float> q("q", fa::query_elements(kLargeScores)), k("k", fa::key_elements(kLargeScores));
  fa::DeviceBuffer<float> s("s", elements);
  q.from_host(inputs.q, q.size() - fa::query_elements(kLastQueries));
  k.from_host(inputs.k, k.size() - fa::key_elements(kLastQueries));
  function(q, k, s, kLargeScores, {});
  fa::check_close("s of the last queries", s.to_host(last, fa::score_elements(kLastQueries)),
                  exact_scores(inputs, kLastQueries, {}), {{"i", kLastQueries.Nq}, {"j", kLastQueries.Nk}},
                  kScoresTolerance);
}

#endif

}  // namespace support
