// Lesson 08: time and working memory of the backward pass against N, one head, D = 64, one thread; `forward` is lesson
// 01's solution in the same run. And the gradient check at many steps.
//
// Counters: scratch_bytes, the measured peak of working memory; kept_bytes, what the forward pass had to keep (P);
// flops, 4 N² D an iteration for `forward` and 8 N² D for `backward`, as a rate. Of `gradient_check`: how far,
// norm-wise, central differences at step 2^-halvings are from the gradients of the oracle and from those of
// attention_backward; and how far from the oracle's they are if the loss comes from lesson 01's forward pass, in float.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "attention_backward.h"
#include "fa/traffic.h"
#include "gradient_check.h"

// Lesson 01's solution, which makes P. It is compiled in its own namespace: see cmake/Lesson.cmake.
namespace lesson_01 {
void attention_scores(const float* q,  // (B, H, Nq, D)
                      const float* k,  // (B, H, Nk, D)
                      float* s,        // (B, H, Nq, Nk)
                      const fa::Shape& shape, const fa::Options& options);
void softmax_rows(const float* s,  // (rows, columns)
                  float* p,        // (rows, columns)
                  fa::Index rows, fa::Index columns);
void weighted_values(const float* p,  // (B, H, Nq, Nk)
                     const float* v,  // (B, H, Nk, D)
                     float* out,      // (B, H, Nq, D)
                     const fa::Shape& shape, const fa::Options& options);
}  // namespace lesson_01

namespace {

// A forward pass, what it keeps, and room for the gradients.
struct Problem {
  fa::Shape shape;
  fa::Inputs inputs;
  fa::Scratch kept;
  fa::Scratch::Array<float> p;  // (B, H, Nq, Nk)
  std::vector<float> out, dq, dk, dv;

  explicit Problem(const fa::Shape& given_shape)
      : shape(given_shape),
        inputs(fa::make_inputs(shape)),
        p(kept.allocate<float>("P", fa::score_elements(shape))),
        out(inputs.q.size()),
        dq(inputs.q.size()),
        dk(inputs.k.size()),
        dv(inputs.v.size()) {}

  void forward(fa::Scratch& scratch) {
    auto s = scratch.allocate<float>("S", fa::score_elements(shape));
    lesson_01::attention_scores(inputs.q.data(), inputs.k.data(), s.data(), shape, {});
    lesson_01::softmax_rows(s.data(), p.data(), fa::query_rows(shape), shape.Nk);
    lesson_01::weighted_values(p.data(), inputs.v.data(), out.data(), shape, {});
  }
  void backward(fa::Scratch& scratch) {
    lesson::attention_backward(inputs.q.data(), inputs.k.data(), inputs.v.data(), p.data(), out.data(),
                               inputs.dout.data(), dq.data(), dk.data(), dv.data(), shape, {}, scratch);
  }
};

void report(benchmark::State& state, const Problem& problem, const fa::Scratch& scratch, fa::Index products) {
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  state.counters["kept_bytes"] = double(problem.kept.peak_bytes());
  const fa::Index flops = fa::forward_flops(problem.shape, {}) / 2 * products;  // a forward pass is two products
  state.counters["flops"] = benchmark::Counter(double(flops), benchmark::Counter::kIsIterationInvariantRate);
}

void forward(benchmark::State& state) {
  Problem problem({.Nq = state.range(0), .Nk = state.range(0), .D = 64});
  fa::Scratch scratch;
  for (auto _ : state) {
    problem.forward(scratch);
    benchmark::DoNotOptimize(problem.out.data());
  }
  report(state, problem, scratch, 2);
}

void backward(benchmark::State& state) {
  Problem problem({.Nq = state.range(0), .Nk = state.range(0), .D = 64});
  fa::Scratch of_forward, scratch;
  problem.forward(of_forward);
  for (auto _ : state) {
    problem.backward(scratch);
    benchmark::DoNotOptimize(problem.dq.data());
  }
  report(state, problem, scratch, 4);
}

// The loss by lesson 01, from operands that are rounded to float.
struct FloatLoss {
  fa::Shape shape;

  double operator()(const gradient_check::Operands& operands) const {
    Problem problem(shape);
    problem.inputs.q.assign(operands.q.begin(), operands.q.end());
    problem.inputs.k.assign(operands.k.begin(), operands.k.end());
    problem.inputs.v.assign(operands.v.begin(), operands.v.end());
    fa::Scratch scratch;
    problem.forward(scratch);
    return gradient_check::loss_of<float>(problem.out, problem.inputs.dout);
  }
};

void gradient_check_at(benchmark::State& state) {
  Problem problem({.B = 1, .H = 2, .Nq = 5, .Nk = 7, .D = 4});
  const fa::Inputs& inputs = problem.inputs;
  const double step = std::ldexp(1.0, -int(state.range(0)));
  const auto oracle = fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, problem.shape, {});
  const gradient_check::OracleLoss loss{inputs.dout, problem.shape, {}};
  const FloatLoss float_loss{problem.shape};
  fa::Scratch scratch;
  problem.forward(scratch);
  problem.backward(scratch);

  const gradient_check::Operands operands(inputs);
  fa::BackwardOracle differences;
  for (auto _ : state) differences = central_differences(operands, loss, step);
  state.counters["oracle_error"] = gradient_check::relative_error(differences, oracle);
  state.counters["backward_error"] = gradient_check::relative_error(problem, differences);
  state.counters["float_loss_error"] =
      gradient_check::relative_error(central_differences(operands, float_loss, step), oracle);
}

}  // namespace

BENCHMARK(forward)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(backward)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(gradient_check_at)->Name("gradient_check")->ArgName("halvings")->DenseRange(2, 44, 2)->Iterations(1);
