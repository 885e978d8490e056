// Lesson 06 beside lesson 05. On the emulator: what goes through HBM, counted, and what scratch holds. One head, D
// = 64.
//
//   standard, v1   against N; V1 with tiles of 32 x 32
//   v1_tiles       against the tiles, N = 256
//
// On a GPU: times against N, beside standard attention by cuBLAS; times of V1 against the tiles at N = 4096. Counters
// and sizes: see simt/benchmark.h and cuda/benchmark.h.

#include <benchmark/benchmark.h>

#include <limits>
#include <map>
#include <string>

#include "attention_forward.h"
#include "fa/traffic.h"

#ifdef FA_CUDA
#include "cuda/benchmark.h"
#else
#include "simt/benchmark.h"
#endif

// Lesson 05's functions have the same names. They are compiled in their own namespace for this comparison: see
// cmake/Lesson.cmake.
namespace lesson_05 {
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::DeviceScratch& scratch);
fa::Traffic forward_traffic(const fa::Shape& shape);
}  // namespace lesson_05

namespace {

// V1's memory beyond its operands.
struct Statistics {
  fa::DeviceBuffer<float> m, l;
  Statistics(fa::DeviceScratch& scratch, const fa::Shape& shape)
      : m(scratch.allocate<float>("m", fa::query_rows(shape))),
        l(scratch.allocate<float>("l", fa::query_rows(shape))) {}
};

void set_tiles(benchmark::State& state, const fa::Tiles& tiles) {
  state.counters["Br"] = double(tiles.Br);
  state.counters["Bc"] = double(tiles.Bc);
}

#ifdef FA_CUDA

void lesson_05_forward(benchmark::State& state) {
  fa::TimedRun run(state);
  run.time(state, "lesson_05", lesson_05::forward_traffic(run.shape), fa::standard_forward_scratch(run.shape),
           [&](fa::TimedRun::Operands& all) {
             lesson_05::attention_forward(all.q, all.k, all.v, all.out, run.shape, run.options, run.scratch);
           });
}

constexpr fa::Tiles all_tiles[] = {{32, 32}, {64, 32}, {32, 64}, {64, 64}, {128, 64}, {64, 128}, {128, 128}};

bool fits(const fa::Tiles& tiles, fa::Index D) {
  return lesson::shared_memory_bytes(tiles, D) <= fa::device().shared_bytes_per_block;
}

// Of the tiles above that fit, those that are fastest at N = 4096: one run each, after one to warm up.
const fa::Tiles& fastest_tiles(fa::Index D) {
  static std::map<fa::Index, fa::Tiles> known;
  const auto found = known.find(D);
  if (found != known.end()) return found->second;
  fa::TimedRun run(4096, D, false);
  fa::TimedRun::Operands& all = run.operands();
  Statistics statistics(run.scratch, run.shape);
  double least = std::numeric_limits<double>::infinity();
  for (const fa::Tiles& tiles : all_tiles) {
    if (!fits(tiles, D)) continue;
    double seconds = 0.0;
    for (int round = 0; round < 2; ++round) {
      fa::DeviceTimer timer;
      timer.start();
      lesson::attention_forward(all.q, all.k, all.v, all.out, statistics.m, statistics.l, run.shape, run.options,
                                tiles);
      seconds = timer.stop();
    }
    if (seconds >= least) continue;
    least = seconds;
    known[D] = tiles;
  }
  return known.at(D);
}

void time_v1(benchmark::State& state, fa::TimedRun run, const fa::Tiles& tiles) {
  const std::string key =
      std::string("lesson_06, Br = ") + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc);
  run.time(state, key, fa::v1_forward_traffic(run.shape, run.options, tiles), fa::v1_forward_scratch(run.shape),
           [&](fa::TimedRun::Operands& all) {
             Statistics statistics(run.scratch, run.shape);
             lesson::attention_forward(all.q, all.k, all.v, all.out, statistics.m, statistics.l, run.shape, run.options,
                                       tiles);
           });
  set_tiles(state, tiles);
}

void lesson_06(benchmark::State& state) { time_v1(state, fa::TimedRun(state), fastest_tiles(state.range(1))); }

void lesson_06_tiles(benchmark::State& state) {
  const fa::Tiles tiles{state.range(3), state.range(4)};
  const fa::Index D = state.range(1), asked = lesson::shared_memory_bytes(tiles, D);
  if (!fits(tiles, D)) {
    state.SkipWithError(("does not fit: " + std::to_string(asked) + " bytes of shared memory").c_str());
    return;
  }
  time_v1(state, fa::TimedRun(state), tiles);
  state.counters["shared_bytes"] = double(asked);
}

void every_tiles(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal", "Br", "Bc"});
  for (const fa::Index D : {64, 128}) {
    for (const fa::Tiles& tiles : all_tiles) benchmark->Args({4096, D, 0, tiles.Br, tiles.Bc});
  }
}

}  // namespace

BENCHMARK(lesson_05_forward)->Name("lesson_05")->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(lesson_06)->Apply(fa::timed)->Apply(fa::every_length)->Repetitions(3);
BENCHMARK(fa::cublas)->Name("cublas")->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(lesson_06_tiles)->Apply(fa::timed)->Apply(every_tiles)->Repetitions(3);

#else

void standard(benchmark::State& state) {
  fa::CountedHead head(state.range(0));
  head.count(state, lesson_05::forward_traffic(head.shape),
             [&] { lesson_05::attention_forward(head.q, head.k, head.v, head.out, head.shape, {}, head.scratch); });
}

void count_v1(benchmark::State& state, const fa::Tiles& tiles) {
  fa::CountedHead head(state.range(0));
  Statistics statistics(head.scratch, head.shape);
  head.count(state, fa::v1_forward_traffic(head.shape, {}, tiles), [&] {
    lesson::attention_forward(head.q, head.k, head.v, head.out, statistics.m, statistics.l, head.shape, {}, tiles);
  });
  set_tiles(state, tiles);
}
void v1(benchmark::State& state) { count_v1(state, {.Br = 32, .Bc = 32}); }
void v1_tiles(benchmark::State& state) { count_v1(state, {.Br = state.range(1), .Bc = state.range(2)}); }

}  // namespace

BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v1)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v1_tiles)
    ->ArgNames({"N", "Br", "Bc"})
    ->ArgsProduct({{256}, {32, 64}, {16, 32, 64, 128}})
    ->Apply(fa::count_once);

#endif
