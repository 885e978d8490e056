// Lesson 03: time and memory of tiled attention against N. One head, D = 64, Br = Bc = 64, one thread; `naive` is
// lesson 01's solution in the same run.
//
// Counters: sram_bytes, the measured peak of the tiles; scratch_bytes, what grows with N beyond q, k, v and out (lse;
// for `naive`, S and P); hbm_bytes, counted through the meter; flops, 4 N² D an iteration, as a rate.

#include <benchmark/benchmark.h>

#include <vector>

#include "attention_forward.h"
#include "fa/inputs.h"
#include "fa/traffic.h"

// Lesson 01's function has the same name. It is compiled in its own namespace for this comparison: see
// cmake/Lesson.cmake.
namespace lesson_01 {
void attention_forward(const float* q,  // (B, H, Nq, D)
                       const float* k,  // (B, H, Nk, D)
                       const float* v,  // (B, H, Nk, D)
                       float* out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::Scratch& scratch);
}  // namespace lesson_01

namespace {

void set_rate(benchmark::State& state, const fa::Shape& shape) {
  state.counters["flops"] =
      benchmark::Counter(double(fa::forward_flops(shape, {})), benchmark::Counter::kIsIterationInvariantRate);
}

void naive(benchmark::State& state) {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = state.range(0), .Nk = state.range(0), .D = 64};
  const fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> out(inputs.q.size());
  fa::Scratch scratch;
  for (auto _ : state) {
    lesson_01::attention_forward(inputs.q.data(), inputs.k.data(), inputs.v.data(), out.data(), shape, {}, scratch);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  set_rate(state, shape);
}

void tiled(benchmark::State& state) {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = state.range(0), .Nk = state.range(0), .D = 64};
  const fa::Inputs inputs = fa::make_inputs(shape);
  fa::Scratch scratch, sram("SRAM");
  auto lse = scratch.allocate<float>("lse", fa::query_rows(shape));
  std::vector<float> out(inputs.q.size());
  fa::TrafficMeter meter;
  const auto q_in_hbm = meter.buffer("q", inputs.q), k_in_hbm = meter.buffer("k", inputs.k);
  const auto v_in_hbm = meter.buffer("v", inputs.v);
  const auto out_in_hbm = meter.buffer("out", out);
  const auto lse_in_hbm = meter.buffer("lse", lse.span());
  for (auto _ : state) {
    lesson::attention_forward(q_in_hbm, k_in_hbm, v_in_hbm, out_in_hbm, lse_in_hbm, shape, {}, {.Br = 64, .Bc = 64},
                              sram);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  state.counters["sram_bytes"] = double(sram.peak_bytes());
  state.counters["hbm_bytes"] = double(meter.total().total()) / double(state.iterations());
  set_rate(state, shape);
}

}  // namespace

BENCHMARK(naive)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(tiled)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
