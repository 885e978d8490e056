// Lesson 04: bytes through HBM, counted, against N and against the size of the SRAM. One head, D = 64.
//
//   standard, v1, v2   against N, tiles for 227 KiB of SRAM       v1_sram, v2_sram   against SRAM bytes, N = 1024
//
// Counters: read_bytes, written_bytes, counted through the meter; scratch_bytes, what grows with N beyond q, k, v and
// out (S and P; m and l; lse), and sram_bytes, the tiles, both measured peaks; Br, Bc, where there are tiles. Times
// here are those of counting.

#include <benchmark/benchmark.h>

#include <optional>
#include <utility>
#include <vector>

#include "attention_forward.h"
#include "comparison.h"
#include "fa/inputs.h"

// Lesson 03's function has the same name. It is compiled in its own namespace for this comparison: see
// cmake/Lesson.cmake.
namespace lesson_03 {
void attention_forward(fa::hbm<const float> q,  // (B, H, Nq, D)
                       fa::hbm<const float> k,  // (B, H, Nk, D)
                       fa::hbm<const float> v,  // (B, H, Nk, D)
                       fa::hbm<float> out,      // (B, H, Nq, D)
                       fa::hbm<float> lse,      // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram);
}  // namespace lesson_03

namespace {

// Metered operands, and the counters that every benchmark here sets.
struct Setup {
  fa::Shape shape;
  fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> out = std::vector<float>(inputs.q.size());
  fa::TrafficMeter meter;
  fa::hbm<const float> q = meter.buffer("q", std::as_const(inputs.q)), k = meter.buffer("k", std::as_const(inputs.k)),
                       v = meter.buffer("v", std::as_const(inputs.v));
  fa::hbm<float> out_in_hbm = meter.buffer("out", out);
  fa::Scratch scratch, sram{"SRAM"};

  explicit Setup(fa::Index N) : shape{.B = 1, .H = 1, .Nq = N, .Nk = N, .D = 64} {}

  void count(benchmark::State& state, std::optional<fa::Tiles> tiles = std::nullopt) {
    const fa::Traffic traffic = meter.total();
    state.counters["read_bytes"] = double(traffic.read_bytes) / double(state.iterations());
    state.counters["written_bytes"] = double(traffic.written_bytes) / double(state.iterations());
    state.counters["scratch_bytes"] = double(scratch.peak_bytes());
    state.counters["sram_bytes"] = double(sram.peak_bytes());
    if (!tiles) return;
    state.counters["Br"] = double(tiles->Br);
    state.counters["Bc"] = double(tiles->Bc);
  }
};

// One metered vector of statistics, from scratch.
struct Statistic {
  fa::Scratch::Array<float> memory;
  fa::hbm<float> in_hbm;
  Statistic(Setup& setup, const char* name)
      : memory(setup.scratch.allocate<float>(name, fa::query_rows(setup.shape))),
        in_hbm(setup.meter.buffer(name, memory.span())) {}
};

void run_v1(benchmark::State& state, fa::Index N, fa::Index sram_bytes) {
  Setup setup(N);
  const fa::Tiles tiles = lesson::choose_tiles(sram_bytes, setup.shape.D);
  Statistic m(setup, "m"), l(setup, "l");
  for (auto _ : state) {
    lesson::attention_forward(setup.q, setup.k, setup.v, setup.out_in_hbm, m.in_hbm, l.in_hbm, setup.shape, {}, tiles,
                              setup.sram);
  }
  setup.count(state, tiles);
}

void run_v2(benchmark::State& state, fa::Index N, fa::Index sram_bytes) {
  Setup setup(N);
  const fa::Tiles tiles = lesson::choose_v2_tiles(sram_bytes, setup.shape.D);
  Statistic lse(setup, "lse");
  for (auto _ : state) {
    lesson_03::attention_forward(setup.q, setup.k, setup.v, setup.out_in_hbm, lse.in_hbm, setup.shape, {}, tiles,
                                 setup.sram);
  }
  setup.count(state, tiles);
}

void standard(benchmark::State& state) {
  Setup setup(state.range(0));
  for (auto _ : state) {
    lesson::standard_attention(setup.q, setup.k, setup.v, setup.out_in_hbm, setup.shape, {}, setup.meter,
                               setup.scratch);
  }
  setup.count(state);
}

constexpr fa::Index kSramBytes = 227 * 1024;  // what a thread block may use on Hopper

void v1(benchmark::State& state) { run_v1(state, state.range(0), kSramBytes); }
void v2(benchmark::State& state) { run_v2(state, state.range(0), kSramBytes); }
void v1_sram(benchmark::State& state) { run_v1(state, 1024, state.range(0)); }
void v2_sram(benchmark::State& state) { run_v2(state, 1024, state.range(0)); }

}  // namespace

// Counts are the same in every iteration, so one is enough.
BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(v1)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(v2)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(v1_sram)
    ->ArgName("bytes")
    ->RangeMultiplier(2)
    ->Range(8192, 1 << 18)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(v2_sram)
    ->ArgName("bytes")
    ->RangeMultiplier(2)
    ->Range(8192, 1 << 18)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
