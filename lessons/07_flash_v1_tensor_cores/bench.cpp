// Lesson 07 beside lessons 05 and 06. On the emulator: what goes through HBM, counted, and what scratch holds. One
// head, D = 64.
//
//   standard    against N: lesson 05, in float
//   wmma, mma   against N: this lesson's kernel and the given one, in fp16, with tiles of 64 x 64
//
// On a GPU: times against N with 8 batches of 16 heads, beside standard attention by cuBLAS in the same format; up to
// 65536 queries, those with one batch. wmma with the tiles that are fastest at N = 4096, mma with the most keys that
// fit. Then the tiles of both, at N = 4096, and lesson 06 there. Counters: see simt/benchmark.h and cuda/benchmark.h.

#include <benchmark/benchmark.h>

#include <concepts>
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
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& m,        // (B, H, Nq)
                       fa::DeviceBuffer<float>& l,        // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);
}  // namespace lesson_06

namespace {

// The two kernels of this lesson.
struct Wmma {
  static constexpr auto name = "wmma";
  static fa::Index shared_bytes(const fa::Tiles& tiles, fa::Index D) { return lesson::shared_memory_bytes(tiles, D); }
  static void forward(auto& all, lesson::State& state, const fa::Shape& shape, const fa::Options& options,
                      const fa::Tiles& tiles) {
    lesson::attention_forward(all.q, all.k, all.v, all.out, state, shape, options, tiles);
  }
};
struct Mma {
  static constexpr auto name = "mma";
  static fa::Index shared_bytes(const fa::Tiles& tiles, fa::Index D) {
    return lesson::shared_memory_bytes_mma(tiles, D);
  }
  static void forward(auto& all, lesson::State& state, const fa::Shape& shape, const fa::Options& options,
                      const fa::Tiles& tiles) {
    lesson::attention_forward_mma(all.q, all.k, all.v, all.out, state, shape, options, tiles);
  }
};

void set_tiles(benchmark::State& state, const fa::Tiles& tiles) {
  state.counters["Br"] = double(tiles.Br);
  state.counters["Bc"] = double(tiles.Bc);
}

#ifdef FA_CUDA

constexpr fa::Index long_N = 65536;

fa::Shape shape_of(fa::Index N, fa::Index D) { return {.B = N == long_N ? 1 : 8, .H = 16, .Nq = N, .Nk = N, .D = D}; }

template <class T>
fa::TimedRunOf<T> run_of(const benchmark::State& state) {
  return {shape_of(state.range(0), state.range(1)), state.range(2) != 0};
}

template <class Kernel>
bool fits(const fa::Tiles& tiles, fa::Index D) {
  return Kernel::shared_bytes(tiles, D) <= fa::device().shared_bytes_per_block;
}

constexpr fa::Tiles wmma_tiles[] = {{64, 64},  {128, 64},  {192, 64},  {256, 64},
                                    {64, 128}, {128, 128}, {192, 128}, {64, 256}};

// Those that are fastest at N = 4096, one run each, after one to warm up.
template <class Kernel, class T>
fa::Tiles best_tiles(fa::Index D)
  requires std::same_as<Kernel, Wmma>
{
  static std::map<fa::Index, fa::Tiles> known;
  const auto found = known.find(D);
  if (found != known.end()) return found->second;
  fa::TimedRunOf<T> run(shape_of(4096, D), false);
  lesson::State state(run.scratch, run.shape);
  double least = std::numeric_limits<double>::infinity();
  for (const fa::Tiles& tiles : wmma_tiles) {
    if (!fits<Wmma>(tiles, D)) continue;
    double seconds = 0.0;
    for (int round = 0; round < 2; ++round) {
      fa::DeviceTimer timer;
      timer.start();
      Wmma::forward(run.operands(), state, run.shape, run.options, tiles);
      seconds = timer.stop();
    }
    if (seconds >= least) continue;
    least = seconds;
    known[D] = tiles;
  }
  return known.at(D);
}

// The most keys that fit: the fewer passes over the state, the better.
template <class Kernel, class T>
fa::Tiles best_tiles(fa::Index D)
  requires std::same_as<Kernel, Mma>
{
  fa::Tiles tiles{.Br = 128, .Bc = 64};
  while (fits<Mma>({tiles.Br, tiles.Bc + 64}, D)) tiles.Bc += 64;
  return tiles;
}

template <class Kernel, class T>
void time_kernel(benchmark::State& state, const fa::Tiles& tiles) {
  fa::TimedRunOf<T> run = run_of<T>(state);
  const fa::Index shared_bytes = Kernel::shared_bytes(tiles, run.shape.D);
  if (!fits<Kernel>(tiles, run.shape.D)) {
    state.SkipWithError(("does not fit: " + std::to_string(shared_bytes) + " bytes of shared memory").c_str());
    return;
  }
  const std::string what =
      std::string(Kernel::name) + ", Br = " + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc);
  lesson::State rows(run.scratch, run.shape);
  run.time(state, what, fa::v1_tensor_core_traffic(run.shape, run.options, {lesson::kRows, tiles.Bc}), 0,
           [&](auto& all) { Kernel::forward(all, rows, run.shape, run.options, tiles); });
  set_tiles(state, tiles);
  state.counters["shared_bytes"] = double(shared_bytes);
}

template <class Kernel, class T>
void lengths(benchmark::State& state) {
  time_kernel<Kernel, T>(state, best_tiles<Kernel, T>(state.range(1)));
}
template <class Kernel>
void tiles(benchmark::State& state) {
  time_kernel<Kernel, fa::half>(state, {state.range(3), state.range(4)});
}
template <class T>
void cublas(benchmark::State& state) {
  fa::time_cublas(state, run_of<T>(state));
}

void lesson_06_forward(benchmark::State& state) {
  constexpr fa::Tiles tiles{.Br = 128, .Bc = 128};
  fa::TimedRun run = run_of<float>(state);
  run.time(state, "lesson_06", fa::v1_forward_traffic(run.shape, run.options, tiles), fa::v1_forward_scratch(run.shape),
           [&](auto& all) {
             fa::DeviceBuffer<float> m = run.scratch.allocate<float>("m", fa::query_rows(run.shape));
             fa::DeviceBuffer<float> l = run.scratch.allocate<float>("l", fa::query_rows(run.shape));
             lesson_06::attention_forward(all.q, all.k, all.v, all.out, m, l, run.shape, run.options, tiles);
           });
  set_tiles(state, tiles);
}

void up_to_4096(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal"});
  for (const fa::Index D : {64, 128}) {
    for (const fa::Index causal : {0, 1}) {
      for (const fa::Index N : {4096, 2048, 1024, 512}) benchmark->Args({N, D, causal});
    }
  }
}
// The longest first: the memory that its S leaves behind is enough for all others.
void all_lengths(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({long_N, 64, 0});
  for (const fa::Index N : {16384, 8192}) {
    for (const fa::Index D : {64, 128}) benchmark->Args({N, D, 0});
  }
  up_to_4096(benchmark);
}

void every_wmma_tiles(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal", "Br", "Bc"});
  for (const fa::Index D : {64, 128}) {
    for (const fa::Tiles& tiles : wmma_tiles) benchmark->Args({4096, D, 0, tiles.Br, tiles.Bc});
  }
}
void every_mma_tiles(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal", "Br", "Bc"});
  for (const fa::Index D : {64, 128}) {
    for (const fa::Index Bc : {64, 128, 256, 384, 512, 768}) benchmark->Args({4096, D, 0, 128, Bc});
  }
}

}  // namespace

BENCHMARK(cublas<fa::half>)->Name("cublas_fp16")->Apply(fa::timed)->Apply(all_lengths);
BENCHMARK(cublas<fa::bfloat16>)->Name("cublas_bf16")->Apply(fa::timed)->Apply(up_to_4096);
BENCHMARK((lengths<Wmma, fa::half>))->Name("wmma_fp16")->Apply(fa::timed)->Apply(up_to_4096);
BENCHMARK((lengths<Wmma, fa::bfloat16>))->Name("wmma_bf16")->Apply(fa::timed)->Apply(up_to_4096);
BENCHMARK((lengths<Mma, fa::half>))->Name("mma_fp16")->Apply(fa::timed)->Apply(all_lengths);
BENCHMARK((lengths<Mma, fa::bfloat16>))->Name("mma_bf16")->Apply(fa::timed)->Apply(up_to_4096);
BENCHMARK(tiles<Wmma>)->Name("wmma_tiles")->Apply(fa::timed)->Apply(every_wmma_tiles);
BENCHMARK(tiles<Mma>)->Name("mma_tiles")->Apply(fa::timed)->Apply(every_mma_tiles);
BENCHMARK(lesson_06_forward)->Name("lesson_06")->Apply(fa::timed)->ArgNames({"N", "D", "causal"})->Args({4096, 64, 0});

#else

void standard(benchmark::State& state) {
  fa::CountedHead head(state.range(0));
  head.count(state, lesson_05::forward_traffic(head.shape),
             [&] { lesson_05::attention_forward(head.q, head.k, head.v, head.out, head.shape, {}, head.scratch); });
}

template <class Kernel>
void count(benchmark::State& state) {
  constexpr fa::Tiles tiles{.Br = 64, .Bc = 64};
  fa::CountedHeadOf<fa::half> head(state.range(0));
  lesson::State rows(head.scratch, head.shape);
  head.count(state, fa::v1_tensor_core_traffic(head.shape, {}, {lesson::kRows, tiles.Bc}),
             [&] { Kernel::forward(head, rows, head.shape, {}, tiles); });
  set_tiles(state, tiles);
}

}  // namespace

BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(count<Wmma>)->Name("wmma")->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(count<Mma>)->Name("mma")->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);

#endif
