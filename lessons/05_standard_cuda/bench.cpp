// Lesson 05. On the emulator: what goes through HBM, counted, and what scratch holds. One head, D = 64.
//
//   standard                 against N: the three kernels
//   scores_untiled, scores   steps 1 and 2 at N = 256: a tile in shared memory against the same sectors read again
//
// On a GPU: times against N, beside standard attention by cuBLAS; steps 1 and 2 at N = 4096. Counters and sizes: see
// simt/benchmark.h and cuda/benchmark.h.

#include <benchmark/benchmark.h>

#include "attention_forward.h"

#ifdef FA_CUDA
#include "cuda/benchmark.h"
#else
#include "simt/benchmark.h"
#endif

namespace {

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// Bytes of S = Q Kᵀ: of either step, S is written once.
fa::Traffic traffic_of_scores(const fa::Shape& shape, fa::Index rows_of_q_read, fa::Index rows_of_k_read) {
  const fa::Index bytes = fa::heads(shape) * fa::Index{sizeof(float)};
  return {bytes * (rows_of_q_read + rows_of_k_read) * shape.D, bytes * shape.Nq * shape.Nk};
}
fa::Traffic traffic_untiled(const fa::Shape& shape) {
  const fa::Index scores = shape.Nq * shape.Nk;
  return traffic_of_scores(shape, scores, scores);
}
fa::Traffic traffic_tiled(const fa::Shape& shape) {
  return traffic_of_scores(shape, shape.Nq * ceil_div(shape.Nk, lesson::tile),
                           shape.Nk * ceil_div(shape.Nq, lesson::tile));
}

#ifdef FA_CUDA

void lesson_05(benchmark::State& state) {
  fa::TimedRun run(state);
  run.time(state, "lesson_05", lesson::forward_traffic(run.shape), fa::standard_forward_scratch(run.shape),
           [&](fa::TimedRun::Operands& all) {
             lesson::attention_forward(all.q, all.k, all.v, all.out, run.shape, run.options, run.scratch);
           });
}

template <class Step>
void time_scores(benchmark::State& state, Step step, fa::Traffic (*traffic)(const fa::Shape&)) {
  fa::TimedRun run(state);
  fa::TimedRun::Operands& all = run.operands();
  fa::DeviceBuffer<float> s = run.scratch.allocate<float>("S", fa::score_elements(run.shape));
  const double one_product_of_two = 0.5;
  run.measure(state, traffic(run.shape), [&] { step(all.q, all.k, s, run.shape, run.options); }, one_product_of_two);
}
void scores_untiled(benchmark::State& state) { time_scores(state, lesson::scores_untiled, traffic_untiled); }
void scores(benchmark::State& state) { time_scores(state, lesson::scores, traffic_tiled); }

}  // namespace

BENCHMARK(lesson_05)->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(fa::cublas)->Name("cublas")->Apply(fa::timed)->Apply(fa::every_length);
BENCHMARK(scores_untiled)->Apply(fa::timed)->ArgNames({"N", "D", "causal"})->Args({4096, 64, 0});
BENCHMARK(scores)->Apply(fa::timed)->ArgNames({"N", "D", "causal"})->Args({4096, 64, 0});

#else

void standard(benchmark::State& state) {
  fa::CountedHead head(state.range(0));
  head.count(state, lesson::forward_traffic(head.shape),
             [&] { lesson::attention_forward(head.q, head.k, head.v, head.out, head.shape, {}, head.scratch); });
}

template <class Step>
void count_scores(benchmark::State& state, Step step, fa::Traffic (*traffic)(const fa::Shape&)) {
  fa::CountedHead head(state.range(0));
  fa::DeviceBuffer<float> s = head.scratch.allocate<float>("S", fa::score_elements(head.shape));
  head.count(state, traffic(head.shape), [&] { step(head.q, head.k, s, head.shape, fa::Options{}); });
}
void scores_untiled(benchmark::State& state) { count_scores(state, lesson::scores_untiled, traffic_untiled); }
void scores(benchmark::State& state) { count_scores(state, lesson::scores, traffic_tiled); }

}  // namespace

BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(scores_untiled)->ArgName("N")->Arg(256)->Apply(fa::count_once);
BENCHMARK(scores)->ArgName("N")->Arg(256)->Apply(fa::count_once);

#endif
