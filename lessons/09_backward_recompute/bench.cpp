// Lesson 09: memory, bytes and time of the backward pass against N, P stored or recomputed. One head, D = 64, one
// thread, tiles for 227 KiB of SRAM.
//
//   stored       the backward pass of lesson 08, after lesson 01's forward pass, which keeps P
//   recomputed   the backward pass of this lesson, after lesson 04's forward pass, which keeps m and l
//   standard     the standard backward pass on metered memory, once: its time is that of counting
//   wide         by formula: the bytes of both at D = 128, in float
//   half         by formula: bytes and FLOP of both at 2 bytes an element, N = 4096
//   training     by formula: the memory of one layer's attention at the training shape of GPT-2 medium
//   longest      the longest sequence at that shape, for a GPU with so many GB
//
// Counters: scratch_bytes, what is kept beyond operands, out and gradients, and sram_bytes, the tiles, both measured
// peaks of forward and backward pass together; read_bytes and written_bytes of the backward pass, counted through the
// meter, and formula_bytes, their sum by formula; flops, 8 N² D or 10 N² D an iteration, as a rate.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "attention_backward.h"
#include "comparison.h"
#include "fa/inputs.h"
#include "fa/traffic.h"

// The other lessons' functions are compiled in namespaces of their own for this comparison: see cmake/Lesson.cmake.
namespace lesson_01 {
void attention_scores(const float* q, const float* k, float* s, const fa::Shape& shape, const fa::Options& options);
void softmax_rows(const float* s, float* p, fa::Index rows, fa::Index columns);
void weighted_values(const float* p, const float* v, float* out, const fa::Shape& shape, const fa::Options& options);
}  // namespace lesson_01

namespace lesson_04 {
void attention_forward(fa::hbm<const float> q, fa::hbm<const float> k, fa::hbm<const float> v, fa::hbm<float> out,
                       fa::hbm<float> m, fa::hbm<float> l, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles, fa::Scratch& sram);
fa::Tiles choose_tiles(fa::Index sram_bytes, fa::Index D);
}  // namespace lesson_04

namespace lesson_08 {
void attention_backward(const float* q, const float* k, const float* v, const float* p, const float* out,
                        const float* dout, float* dq, float* dk, float* dv, const fa::Shape& shape,
                        const fa::Options& options, fa::Scratch& scratch);
}  // namespace lesson_08

namespace {

constexpr fa::Index kSramBytes = 227 * 1024;  // what a thread block may use on Hopper

// Operands, outputs, and the counters that every run here sets.
struct Setup {
  fa::Shape shape;
  fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> out = std::vector<float>(inputs.q.size()), dq = out, dk = out, dv = out;
  fa::Scratch scratch, sram{"SRAM"};
  fa::TrafficMeter meter;

  explicit Setup(fa::Index N) : shape{.B = 1, .H = 1, .Nq = N, .Nk = N, .D = 64} {}

  void set_memory(benchmark::State& state) const {
    state.counters["scratch_bytes"] = double(scratch.peak_bytes());
    state.counters["sram_bytes"] = double(sram.peak_bytes());
  }
  void set_traffic(benchmark::State& state, const fa::Traffic& formula) const {
    state.counters["read_bytes"] = double(meter.total().read_bytes) / double(state.iterations());
    state.counters["written_bytes"] = double(meter.total().written_bytes) / double(state.iterations());
    state.counters["formula_bytes"] = double(formula.total());
  }
  void set_rate(benchmark::State& state, fa::Weights weights) const {
    const double flops = double(fa::backward_flops(shape, {}, weights));
    state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  }
};

// Lesson 01's forward pass. S is given back, P is kept.
void forward_keeping_weights(Setup& setup, float* p) {
  auto s = setup.scratch.allocate<float>("S", fa::score_elements(setup.shape));
  lesson_01::attention_scores(setup.inputs.q.data(), setup.inputs.k.data(), s.data(), setup.shape, {});
  lesson_01::softmax_rows(s.data(), p, fa::query_rows(setup.shape), setup.shape.Nk);
  lesson_01::weighted_values(p, setup.inputs.v.data(), setup.out.data(), setup.shape, {});
}

void stored(benchmark::State& state) {
  Setup setup(state.range(0));
  auto p = setup.scratch.allocate<float>("P", fa::score_elements(setup.shape));
  forward_keeping_weights(setup, p.data());
  for (auto _ : state) {
    lesson_08::attention_backward(setup.inputs.q.data(), setup.inputs.k.data(), setup.inputs.v.data(), p.data(),
                                  setup.out.data(), setup.inputs.dout.data(), setup.dq.data(), setup.dk.data(),
                                  setup.dv.data(), setup.shape, {}, setup.scratch);
    benchmark::DoNotOptimize(setup.dq.data());
  }
  setup.set_memory(state);
  setup.set_rate(state, fa::Weights::stored);
}

void recomputed(benchmark::State& state) {
  Setup setup(state.range(0));
  fa::TrafficMeter& meter = setup.meter;
  auto m_memory = setup.scratch.allocate<float>("m", fa::query_rows(setup.shape));
  auto l_memory = setup.scratch.allocate<float>("l", fa::query_rows(setup.shape));
  const auto m = meter.buffer("m", m_memory.span()), l = meter.buffer("l", l_memory.span());
  const auto q = meter.buffer("q", std::as_const(setup.inputs.q)), k = meter.buffer("k", std::as_const(setup.inputs.k));
  const auto v = meter.buffer("v", std::as_const(setup.inputs.v)),
             dout = meter.buffer("dout", std::as_const(setup.inputs.dout));
  const auto out = meter.buffer("out", setup.out), dq = meter.buffer("dq", setup.dq);
  const auto dk = meter.buffer("dk", setup.dk), dv = meter.buffer("dv", setup.dv);
  const fa::Index D = setup.shape.D;
  lesson_04::attention_forward(q, k, v, out, m, l, setup.shape, {}, lesson_04::choose_tiles(kSramBytes, D), setup.sram);
  meter.reset();
  const fa::Tiles tiles = lesson::choose_tiles(kSramBytes, D);
  for (auto _ : state) {
    lesson::attention_backward(q, k, v, out, m, l, dout, dq, dk, dv, setup.shape, {}, tiles, setup.sram);
    benchmark::DoNotOptimize(setup.dq.data());
  }
  setup.set_memory(state);
  setup.set_traffic(state, lesson::backward_traffic(setup.shape, {}, tiles));
  setup.set_rate(state, fa::Weights::recomputed);
}

void standard(benchmark::State& state) {
  Setup setup(state.range(0));
  fa::TrafficMeter& meter = setup.meter;
  auto p_memory = setup.scratch.allocate<float>("P", fa::score_elements(setup.shape));
  forward_keeping_weights(setup, p_memory.data());
  const fa::hbm<const float> p = meter.buffer("p", p_memory.span());
  const auto q = meter.buffer("q", std::as_const(setup.inputs.q)), k = meter.buffer("k", std::as_const(setup.inputs.k));
  const auto v = meter.buffer("v", std::as_const(setup.inputs.v)),
             dout = meter.buffer("dout", std::as_const(setup.inputs.dout));
  const auto dq = meter.buffer("dq", setup.dq), dk = meter.buffer("dk", setup.dk), dv = meter.buffer("dv", setup.dv);
  for (auto _ : state) {
    lesson::standard_backward(q, k, v, p, dout, dq, dk, dv, setup.shape, {}, meter, setup.scratch);
  }
  setup.set_traffic(state, fa::standard_backward_traffic(setup.shape));
}

void wide(benchmark::State& state) {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = state.range(0), .Nk = state.range(0), .D = 128};
  for (auto _ : state) {
    const fa::Tiles tiles = lesson::choose_tiles(kSramBytes, shape.D);
    state.counters["standard_bytes"] = double(fa::standard_backward_traffic(shape).total());
    state.counters["v1_bytes"] = double(lesson::backward_traffic(shape, {}, tiles).total());
  }
}

void half(benchmark::State& state) {
  const fa::Shape shape{.B = 1, .H = 1, .Nq = 4096, .Nk = 4096, .D = state.range(0)};
  for (auto _ : state) {
    const fa::Tiles tiles = lesson::choose_tiles(2 * kSramBytes, shape.D);  // as many elements as fit at 2 bytes
    state.counters["standard_bytes"] = double(fa::standard_backward_traffic(shape, 2).total());
    state.counters["v1_bytes"] = double(fa::v1_backward_traffic(shape, {}, tiles, 2).total());
    state.counters["standard_flop"] = double(fa::backward_flops(shape, {}, fa::Weights::stored));
    state.counters["v1_flop"] = double(fa::backward_flops(shape, {}, fa::Weights::recomputed));
  }
}

void training(benchmark::State& state) {
  const fa::Shape shape = lesson::model_shape(state.range(0));
  for (auto _ : state) {
    state.counters["stored_bytes"] = double(lesson::training_bytes(shape, fa::Weights::stored));
    state.counters["recomputed_bytes"] = double(lesson::training_bytes(shape, fa::Weights::recomputed));
  }
}

void longest(benchmark::State& state) {
  const fa::Index bytes = state.range(0) * 1'000'000'000;
  for (auto _ : state) {
    state.counters["stored_N"] = double(lesson::longest_sequence(bytes, fa::Weights::stored));
    state.counters["recomputed_N"] = double(lesson::longest_sequence(bytes, fa::Weights::recomputed));
  }
}

}  // namespace

BENCHMARK(stored)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(recomputed)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Unit(benchmark::kMillisecond);
// Counts are the same in every iteration, so one is enough.
BENCHMARK(standard)->ArgName("N")->RangeMultiplier(2)->Range(128, 4096)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(wide)->ArgName("N")->Arg(4096)->Iterations(1);
BENCHMARK(half)->ArgName("D")->Arg(64)->Arg(128)->Iterations(1);
BENCHMARK(training)->ArgName("N")->RangeMultiplier(2)->Range(128, 1 << 17)->Iterations(1);
BENCHMARK(longest)->ArgName("GB")->Arg(16)->Arg(80)->Arg(141)->Iterations(1);
