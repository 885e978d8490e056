// Lesson 02: what online softmax saves, on one row of N scores. One thread.
//
// safe_softmax, online_softmax: counter accesses, the reads and writes of HBM an element, counted.
// whole_row, tile_by_tile: counter scratch_bytes, the peak of working memory when the output of one query is computed
// from all its scores at once, and when a tile of 64 of them is absorbed at a time.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <span>
#include <vector>

#include "fa/inputs.h"
#include "fa/scratch.h"
#include "online_softmax.h"

namespace {

template <void (*softmax)(fa::hbm<const float>, fa::hbm<float>, fa::Index)>
void row(benchmark::State& state) {
  const fa::Index N = state.range(0);
  fa::TrafficMeter meter;
  const std::vector<float> x = fa::normal_values(N, 1);
  std::vector<float> y(x.size());
  const auto x_in_hbm = meter.buffer("x", x);
  const auto y_in_hbm = meter.buffer("y", y);
  for (auto _ : state) {
    softmax(x_in_hbm, y_in_hbm, N);
    benchmark::DoNotOptimize(y.data());
  }
  state.counters["accesses"] = double(meter.total().total()) / sizeof(float) / double(N) / double(state.iterations());
}

// A head with D = 1: query 1, so that the score of a key is the key itself.
void output_of_query(benchmark::State& state, fa::Index tile) {
  const fa::Index N = state.range(0);
  const std::vector<float> k = fa::normal_values(N, 1), v = fa::normal_values(N, 2);
  fa::Scratch scratch;
  for (auto _ : state) {
    lesson::AttentionState attention;
    for (fa::Index first = 0; first < N; first += tile) {
      const std::size_t keys = std::size_t(std::min(tile, N - first));
      auto scores = scratch.allocate<float>("scores", fa::Index(keys));
      std::copy_n(k.data() + first, keys, scores.data());
      attention = lesson::absorb(attention, scores.span(), {v.data() + first, keys});
    }
    benchmark::DoNotOptimize(lesson::output(attention));
  }
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
}
void whole_row(benchmark::State& state) { output_of_query(state, state.range(0)); }
void tile_by_tile(benchmark::State& state) { output_of_query(state, 64); }

}  // namespace

BENCHMARK(row<lesson::safe_softmax>)->Name("safe_softmax")->ArgName("N")->RangeMultiplier(8)->Range(1 << 10, 1 << 19);
BENCHMARK(row<lesson::online_softmax>)
    ->Name("online_softmax")
    ->ArgName("N")
    ->RangeMultiplier(8)
    ->Range(1 << 10, 1 << 19);
BENCHMARK(whole_row)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096);
BENCHMARK(tile_by_tile)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096);
