// Lesson 11 beside lessons 05 and 06. On the emulator: what goes through HBM, counted, and what scratch holds. One
// head, D = 64.
//
//   standard, v1, v2   against N; V1 with tiles of 64 x 64, V2 with its own
//
// On a GPU, all in one run: times against N, beside standard attention by cuBLAS; and times of V1 and V2 against the
// number of heads, at N = 1024, and at N = 4096 with 16 heads in all. V1 with the tiles that are fastest at N = 4096.
// Counters and sizes: see simt/benchmark.h and cuda/benchmark.h.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attention_forward.h"
#include "fa/traffic.h"

#ifdef FA_CUDA
#include "cuda/benchmark.h"
#else
#include "simt/benchmark.h"
#endif

// The functions of earlier lessons have the same names. They are compiled in their own namespaces for this comparison:
// see cmake/Lesson.cmake.
namespace lesson_05 {
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       const fa::Shape& shape, const fa::Options& options, fa::DeviceScratch& scratch);
fa::Traffic forward_traffic(const fa::Shape& shape);
}  // namespace lesson_05

namespace lesson_06 {
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& m,        // (B, H, Nq)
                       fa::DeviceBuffer<float>& l,        // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);
}  // namespace lesson_06

namespace {

constexpr fa::Tiles v2_tiles{.Br = lesson::Br, .Bc = lesson::Bc};

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

template <class Operands>
void v1_forward(fa::TimedRun& run, Operands& all, const fa::Tiles& tiles) {
  Statistics statistics(run.scratch, run.shape);
  lesson_06::attention_forward(all.q, all.k, all.v, all.out, statistics.m, statistics.l, run.shape, run.options, tiles);
}

template <class Operands>
void v2_forward(fa::TimedRun& run, Operands& all) {
  fa::DeviceBuffer<float> lse = run.scratch.allocate<float>("lse", fa::query_rows(run.shape));
  lesson::attention_forward(all.q, all.k, all.v, all.out, lse, run.shape, run.options);
}

// Of these tiles of V1, those that fit and are fastest at N = 4096, as bench_06 finds them: one run each, after one to
// warm up.
const fa::Tiles& fastest_tiles(fa::Index D) {
  static std::map<fa::Index, fa::Tiles> known;
  const auto found = known.find(D);
  if (found != known.end()) return found->second;
  fa::TimedRun run(4096, D, false);
  double least = std::numeric_limits<double>::infinity();
  for (const fa::Tiles tiles : {fa::Tiles{32, 32}, {64, 32}, {32, 64}, {64, 64}, {128, 64}, {64, 128}, {128, 128}}) {
    if (lesson_06::shared_memory_bytes(tiles, D) > fa::device().shared_bytes_per_block) continue;
    double seconds = 0.0;
    for (int round = 0; round < 2; ++round) {
      fa::DeviceTimer timer;
      timer.start();
      v1_forward(run, run.operands(), tiles);
      seconds = timer.stop();
    }
    if (seconds >= least) continue;
    least = seconds;
    known[D] = tiles;
  }
  return known.at(D);
}

void lesson_05_forward(benchmark::State& state) {
  fa::TimedRun run(state);
  run.time(state, "lesson_05", lesson_05::forward_traffic(run.shape), fa::standard_forward_scratch(run.shape),
           [&](fa::TimedRun::Operands& all) {
             lesson_05::attention_forward(all.q, all.k, all.v, all.out, run.shape, run.options, run.scratch);
           });
}
void lesson_06_forward(benchmark::State& state) {
  fa::TimedRun run(state);
  const fa::Tiles& tiles = fastest_tiles(run.shape.D);
  run.time(state, "lesson_06", fa::v1_forward_traffic(run.shape, run.options, tiles), fa::v1_forward_scratch(run.shape),
           [&](fa::TimedRun::Operands& all) { v1_forward(run, all, tiles); });
  set_tiles(state, tiles);
}

void lesson_11_forward(benchmark::State& state) {
  fa::TimedRun run(state);
  run.time(state, "lesson_11", fa::v2_forward_traffic(run.shape, run.options, v2_tiles),
           fa::v2_forward_scratch(run.shape), [&](fa::TimedRun::Operands& all) { v2_forward(run, all); });
  set_tiles(state, v2_tiles);
}

// Operands of up to 528 heads of N = 1024, D = 64, or as many elements of another shape, kept until another shape is
// asked for.
struct Heads {
  static std::span<const float> values(const fa::Shape& shape, std::uint64_t seed) {
    constexpr fa::Index most = 528 * 1024 * 64;
    static std::map<std::uint64_t, std::vector<float>> known;
    std::vector<float>& all = known[seed];
    if (all.empty()) all = fa::normal_values(most, seed);
    return std::span(all).first(std::size_t(fa::query_elements(shape)));
  }

  fa::Shape shape;
  std::span<const float> q_values = values(shape, 1), k_values = values(shape, 2), v_values = values(shape, 3);
  fa::DeviceBuffer<float> q{"q", q_values}, k{"k", k_values}, v{"v", v_values}, out{"out", fa::query_elements(shape)};
  std::set<std::string> checked = {};

  static Heads& of(const fa::Shape& shape) {
    static std::optional<Heads> kept;
    if (!kept || kept->shape.H != shape.H || kept->shape.Nq != shape.Nq || kept->shape.D != shape.D) {
      kept.reset();
      kept.emplace(Heads{shape});
    }
    return *kept;
  }
};

// Times `forward(run, operands)` for the arguments N, D, causal, heads. The first result is compared with the oracle.
template <class Forward>
void time_heads(benchmark::State& state, const std::string& what, const fa::Traffic& traffic, fa::Index blocks,
                fa::TimedRun& run, Forward forward) {
  Heads& all = Heads::of(run.shape);
  if (all.checked.insert(what).second) {
    all.out.from_host(std::vector<float>(all.q_values.size(), fa::unwritten<float>()));
    forward(run, all);
    fa::check_rows(what, all.q_values, all.k_values, all.v_values, all.out, run.shape, run.options);
  }
  run.measure(state, traffic, [&] { forward(run, all); });
  state.counters["operand_bytes"] = double(4 * all.q.bytes());  // with few heads they stay in L2, for V1 and for V2
  state.counters["blocks"] = double(blocks);
  state.counters["multiprocessors"] = double(fa::device().multiprocessors);
}

// V1 has a block for each head, V2 one for each tile of queries of each head.
void v1_heads(benchmark::State& state) {
  const fa::Tiles& tiles = fastest_tiles(state.range(1));
  fa::TimedRun run(state);
  run.shape.B = 1, run.shape.H = state.range(3);
  time_heads(state, "v1_heads", fa::v1_forward_traffic(run.shape, run.options, tiles), fa::heads(run.shape), run,
             [&](fa::TimedRun& once, Heads& all) { v1_forward(once, all, tiles); });
  set_tiles(state, tiles);
}

void v2_heads(benchmark::State& state) {
  fa::TimedRun run(state);
  run.shape.B = 1, run.shape.H = state.range(3);
  const fa::Extents grid = lesson::grid(run.shape);
  time_heads(state, "v2_heads", fa::v2_forward_traffic(run.shape, run.options, v2_tiles), grid.x * grid.y * grid.z, run,
             [](fa::TimedRun& once, Heads& all) { v2_forward(once, all); });
  set_tiles(state, v2_tiles);
}

void every_number_of_heads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal", "heads"});
  for (const fa::Index heads : {1, 2, 4, 8, 16, 32, 66, 132, 264, 528}) benchmark->Args({1024, 64, 0, heads});
  benchmark->Args({4096, 64, 0, 16});
}

}  // namespace

BENCHMARK(lesson_05_forward)->Name("lesson_05")->Apply(fa::timed)->Apply(fa::every_length)->Repetitions(3);
BENCHMARK(lesson_06_forward)->Name("lesson_06")->Apply(fa::timed)->Apply(fa::every_length)->Repetitions(3);
BENCHMARK(lesson_11_forward)->Name("lesson_11")->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(fa::cublas)->Name("cublas")->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(v1_heads)->Apply(fa::timed)->Apply(every_number_of_heads);
BENCHMARK(v2_heads)->Apply(fa::timed)->Apply(every_number_of_heads);

#else

void standard(benchmark::State& state) {
  fa::CountedHead head(state.range(0));
  head.count(state, lesson_05::forward_traffic(head.shape),
             [&] { lesson_05::attention_forward(head.q, head.k, head.v, head.out, head.shape, {}, head.scratch); });
}

void v1(benchmark::State& state) {
  constexpr fa::Tiles tiles{.Br = 64, .Bc = 64};
  fa::CountedHead head(state.range(0));
  Statistics statistics(head.scratch, head.shape);
  head.count(state, fa::v1_forward_traffic(head.shape, {}, tiles), [&] {
    lesson_06::attention_forward(head.q, head.k, head.v, head.out, statistics.m, statistics.l, head.shape, {}, tiles);
  });
  set_tiles(state, tiles);
}

void v2(benchmark::State& state) {
  fa::CountedHead head(state.range(0));
  fa::DeviceBuffer<float> lse = head.scratch.allocate<float>("lse", fa::query_rows(head.shape));
  head.count(state, fa::v2_forward_traffic(head.shape, {}, v2_tiles),
             [&] { lesson::attention_forward(head.q, head.k, head.v, head.out, lse, head.shape, {}); });
  set_tiles(state, v2_tiles);
}

}  // namespace

BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v1)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v2)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);

#endif
