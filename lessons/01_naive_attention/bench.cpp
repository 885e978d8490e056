// Lesson 01: time and working memory of standard attention against N. One head, D = 64, one thread.
//
// Counters: scratch_bytes, the measured peak of working memory; flops, 4 N² D an iteration, as a rate.

#include <benchmark/benchmark.h>

#include <vector>

#include "attention_forward.h"
#include "fa/inputs.h"
#include "fa/traffic.h"

namespace {

void forward(benchmark::State& state) {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = state.range(0), .Nk = state.range(0), .D = 64};
  const fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> out(inputs.q.size());
  fa::Scratch scratch;
  for (auto _ : state) {
    lesson::attention_forward(inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), shape, {}, scratch);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  state.counters["flops"] =
      benchmark::Counter(double(fa::forward_flops(shape, {})), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

BENCHMARK(forward)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
