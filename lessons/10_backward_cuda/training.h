// A training step of attention on the device, forward and backward pass: standard attention, which stores P, and V1,
// which recomputes it. For bench.cpp and profile.cpp.

#pragma once

#include "attention_backward.h"
#include "fa/device.h"
#include "fa/inputs.h"
#include "fa/traffic.h"
#include "standard_backward.h"

// The forward passes. Their functions have the same names as this lesson's, so they are compiled in namespaces of their
// own: see cmake/Lesson.cmake.
namespace lesson_05 {
void scores(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
            const fa::Shape& shape, const fa::Options& options);
void softmax(const fa::DeviceBuffer<float>& s, fa::DeviceBuffer<float>& p, const fa::Shape& shape);
void product(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out,
             const fa::Shape& shape, const fa::Options& options);
fa::Traffic forward_traffic(const fa::Shape& shape);
}  // namespace lesson_05

namespace lesson_06 {
void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m,
                       fa::DeviceBuffer<float>& l, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles);
}  // namespace lesson_06

namespace training {

struct Problem {
  fa::Shape shape;
  fa::Options options;
  fa::Tiles tiles;  // of V1, for both passes: what fits backward fits forward
};

struct Operands {
  fa::DeviceBuffer<float> q, k, v, dout;
  fa::DeviceBuffer<float> out{"out", q.size()}, dq{"dq", q.size()}, dk{"dk", k.size()}, dv{"dv", v.size()};

  explicit Operands(const fa::Inputs& inputs)
      : q("q", inputs.q), k("k", inputs.k), v("v", inputs.v), dout("dout", inputs.dout) {}
};

// Lesson 05's three kernels, then the five of standard_backward. P stays from one pass to the other, S does not.
struct Standard {
  static constexpr fa::Weights weights = fa::Weights::stored;
  static fa::Traffic traffic(const Problem& problem) {
    return lesson_05::forward_traffic(problem.shape) + lesson::standard_backward_traffic(problem.shape);
  }

  Problem problem;
  Operands& all;
  fa::DeviceScratch& scratch;
  fa::DeviceBuffer<float> p = scratch.allocate<float>("P", fa::score_elements(problem.shape));

  void forward() {
    fa::DeviceBuffer<float> s = scratch.allocate<float>("S", fa::score_elements(problem.shape));
    lesson_05::scores(all.q, all.k, s, problem.shape, problem.options);
    lesson_05::softmax(s, p, problem.shape);
    lesson_05::product(p, all.v, all.out, problem.shape, problem.options);
  }
  void backward() {
    lesson::standard_backward(all.q, all.k, all.v, p, all.dout, all.dq, all.dk, all.dv, problem.shape, problem.options,
                              scratch);
  }
};

// Lesson 06, then this lesson. m and l stay.
struct V1 {
  static constexpr fa::Weights weights = fa::Weights::recomputed;
  static fa::Traffic traffic(const Problem& problem) {
    const auto& [shape, options, tiles] = problem;
    return fa::v1_forward_traffic(shape, options, tiles) + lesson::backward_traffic(shape, options, tiles);
  }

  Problem problem;
  Operands& all;
  fa::DeviceScratch& scratch;
  fa::DeviceBuffer<float> m = scratch.allocate<float>("m", fa::query_rows(problem.shape));
  fa::DeviceBuffer<float> l = scratch.allocate<float>("l", fa::query_rows(problem.shape));

  void forward() {
    lesson_06::attention_forward(all.q, all.k, all.v, all.out, m, l, problem.shape, problem.options, problem.tiles);
  }
  void backward() {
    lesson::attention_backward(all.q, all.k, all.v, all.out, m, l, all.dout, all.dq, all.dk, all.dv, problem.shape,
                               problem.options, problem.tiles, scratch);
  }
};

// FLOP of the products of both passes.
inline fa::Index flops(const Problem& problem, fa::Weights weights) {
  return fa::forward_flops(problem.shape, problem.options) +
         fa::backward_flops(problem.shape, problem.options, weights);
}

}  // namespace training
