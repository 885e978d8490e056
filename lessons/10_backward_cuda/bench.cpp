// Lesson 10: training steps, forward and backward pass: standard attention with P stored, and V1 with P recomputed. On
// the emulator: what goes through HBM, counted, and what scratch holds. One head, D = 64.
//
//   standard, v1   against N; V1 with tiles of 32 x 32
//   v1_tiles       against the tiles, N = 256 and 1024
//
// On a GPU: times at the shape of FlashAttention's Figure 2 (arXiv:2205.14135), the training shape of GPT-2 medium: 64
// batches of 16 heads, N = 1024, D = 64. V1 for each pair of tiles.
//
// Counters of a GPU's run: forward_ms and backward_ms, of which the time is the sum; flops, those of the products of
// both passes, and peak_flops_per_second, what cuBLAS reaches in fp32; read_bytes and written_bytes by formula;
// scratch_bytes, the measured peak; operand_bytes, which L2, l2_bytes, cannot hold.

#include <benchmark/benchmark.h>

#include <set>
#include <string>
#include <vector>

#include "training.h"

#ifdef FA_CUDA
#include "cuda/cublas/standard_attention.h"
#include "fa/head_check.h"
#include "fa/poison.h"
#else
#include "simt/benchmark.h"
#endif

namespace {

constexpr fa::Tiles all_tiles[] = {{32, 32}, {64, 32}, {32, 64}, {64, 64}, {128, 64}, {32, 128}, {64, 128}};

void set_tiles(benchmark::State& state, const fa::Tiles& tiles) {
  state.counters["Br"] = double(tiles.Br);
  state.counters["Bc"] = double(tiles.Bc);
}

#ifdef FA_CUDA

constexpr fa::Shape paper_shape{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};

// The same memory for all benchmarks, filled once.
struct Data {
  fa::Inputs inputs = fa::make_inputs(paper_shape);
  fa::HeadCheck exact{inputs, paper_shape, {}};
  training::Operands operands{inputs};
  std::vector<float> nothing = std::vector<float>(inputs.q.size(), fa::unwritten<float>());

  static Data& instance() {
    fa::set_synchronous_launches(false);
    static Data data;
    return data;
  }
};

template <class Step>
void time_step(benchmark::State& state, const std::string& what, const fa::Tiles& tiles) {
  static const double peak = fa::cublas_fp32_peak();
  Data& data = Data::instance();
  training::Operands& all = data.operands;
  fa::DeviceScratch scratch;
  const training::Problem problem{paper_shape, {}, tiles};
  static std::set<std::string> checked;
  if (checked.insert(what).second) {  // once to warm up, and to see that what is timed is right
    for (fa::DeviceBuffer<float>* gradient : {&all.dq, &all.dk, &all.dv}) gradient->from_host(data.nothing);
    Step step{problem, all, scratch};
    step.forward();
    step.backward();
    data.exact.check(what, all.dq, all.dk, all.dv);
  }
  fa::DeviceTimer timer;
  double forward = 0.0, backward = 0.0;
  for (auto _ : state) {
    Step step{problem, all, scratch};
    timer.start();
    step.forward();
    const double first = timer.stop();
    timer.start();
    step.backward();
    const double second = timer.stop();
    state.SetIterationTime(first + second);
    forward += first, backward += second;
  }
  state.counters["forward_ms"] = 1e3 * forward / double(state.iterations());
  state.counters["backward_ms"] = 1e3 * backward / double(state.iterations());
  state.counters["flops"] = double(training::flops(problem, Step::weights));
  state.counters["peak_flops_per_second"] = peak;
  state.counters["read_bytes"] = double(Step::traffic(problem).read_bytes);
  state.counters["written_bytes"] = double(Step::traffic(problem).written_bytes);
  state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  state.counters["operand_bytes"] = double(8 * all.q.bytes());
  state.counters["l2_bytes"] = double(fa::device().l2_bytes);
}

void standard(benchmark::State& state) { time_step<training::Standard>(state, "standard", {}); }

void v1(benchmark::State& state) {
  const fa::Tiles tiles{state.range(0), state.range(1)};
  const fa::Index asked = lesson::shared_memory_bytes(tiles, paper_shape.D);
  if (asked > fa::device().shared_bytes_per_block) {
    state.SkipWithError(("does not fit: " + std::to_string(asked) + " bytes of shared memory").c_str());
    return;
  }
  time_step<training::V1>(state, "V1, Br = " + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc), tiles);
  set_tiles(state, tiles);
  state.counters["shared_bytes"] = double(asked);
}

void timed(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1)->DisplayAggregatesOnly(true);
}

void every_tiles(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"Br", "Bc"});
  for (const fa::Tiles& tiles : all_tiles) benchmark->Args({tiles.Br, tiles.Bc});
}

}  // namespace

BENCHMARK(standard)->Apply(timed)->Repetitions(5);
BENCHMARK(v1)->Apply(timed)->Apply(every_tiles)->Repetitions(3);

#else

template <class Step>
void count_step(benchmark::State& state, const fa::Tiles& tiles) {
  fa::CountedHead head(state.range(0));
  training::Operands operands(head.inputs);
  const training::Problem problem{head.shape, {}, tiles};
  head.count(state, Step::traffic(problem), [&] {
    Step step{problem, operands, head.scratch};
    step.forward();
    step.backward();
  });
}
void standard(benchmark::State& state) { count_step<training::Standard>(state, {}); }

void count_v1(benchmark::State& state, const fa::Tiles& tiles) {
  count_step<training::V1>(state, tiles);
  set_tiles(state, tiles);
}
void v1(benchmark::State& state) { count_v1(state, {.Br = 32, .Bc = 32}); }
void v1_tiles(benchmark::State& state) { count_v1(state, {.Br = state.range(1), .Bc = state.range(2)}); }

void every_tiles(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "Br", "Bc"});
  for (const fa::Index N : {256, 1024})
    for (const fa::Tiles& tiles : all_tiles) benchmark->Args({N, tiles.Br, tiles.Bc});
}

}  // namespace

BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v1)->ArgName("N")->RangeMultiplier(2)->Range(64, 1024)->Apply(fa::count_once);
BENCHMARK(v1_tiles)->Apply(every_tiles)->Apply(fa::count_once);

#endif
