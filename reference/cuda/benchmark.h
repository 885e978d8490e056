// Benchmarks on a GPU: how long attention takes, at the sizes of FlashAttention's papers.
//
// 16384 tokens in all and a hidden size of 2048, so that q, k, v and out have the same size for each N and each D:
// 128 MiB each. Longer sequences mean fewer of them. Random inputs; times of CUDA events.
//
// L2 is not flushed between the runs. It need not be: q, k, v and out alone are more than eight times as large as the
// L2 of an H200. The counters l2_bytes and operand_bytes say so for the GPU at hand.

#pragma once

#include <benchmark/benchmark.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/cublas/standard_attention.h"
#include "cuda/device.h"
#include "fa/inputs.h"
#include "fa/poison.h"
#include "fa/row_check.h"
#include "fa/traffic.h"

namespace fa {

struct TimedRun {
  static constexpr Index tokens = 16384, hidden_size = 2048;

  Shape shape;
  Options options;
  DeviceScratch scratch;

  TimedRun(Index N, Index D, bool causal)
      : shape{.B = tokens / N, .H = hidden_size / D, .Nq = N, .Nk = N, .D = D}, options{.causal = causal} {
    set_synchronous_launches(false);
  }
  // Of a benchmark whose first arguments are N, D and whether it is causal.
  explicit TimedRun(const benchmark::State& state) : TimedRun(state.range(0), state.range(1), state.range(2) != 0) {}

  // The same memory for all benchmarks, filled once.
  struct Operands {
    std::vector<float> q_values = normal_values(tokens * hidden_size, 1);
    std::vector<float> k_values = normal_values(tokens * hidden_size, 2);
    std::vector<float> v_values = normal_values(tokens * hidden_size, 3);
    DeviceBuffer<float> q{"q", q_values}, k{"k", k_values}, v{"v", v_values}, out{"out", tokens* hidden_size};
  };
  static Operands& operands() {
    static Operands all;
    return all;
  }

  // Runs once to warm up, checks what came out, and then times. `traffic`: what the algorithm asks HBM for, by formula.
  // `needs`: the scratch that it takes; where that does not fit, the benchmark says "out of memory" in place of a time.
  // `key` names what is timed; for each key and size one run is checked.
  template <class Run>
  void time(benchmark::State& state, const std::string& key, const Traffic& traffic, Index needs, Run run) {
    Operands& all = operands();
    if (!fits(needs)) {
      state.SkipWithError(("out of memory: " + std::to_string(needs) + " bytes of scratch").c_str());
      return;
    }
    static std::set<std::tuple<std::string, Index, Index, bool>> checked;
    if (checked.insert({key, shape.Nq, shape.D, options.causal}).second) {
      all.out.from_host(std::vector<float>(all.q_values.size(), unwritten<float>()));
      run(all);
      check_rows(key, all.q_values, all.k_values, all.v_values, all.out, shape, options);
    }
    measure(state, traffic, [&] { run(all); });
  }

  // The times alone, and the counters. `part`: of the FLOP of a forward pass.
  template <class Run>
  void measure(benchmark::State& state, const Traffic& traffic, Run run, double part = 1.0) const {
    const double peak = measured_peak();
    DeviceTimer timer;
    double all_seconds = 0.0;
    for (auto _ : state) {
      timer.start();
      run();
      const double seconds = timer.stop();
      state.SetIterationTime(seconds);
      all_seconds += seconds;
    }
    const double flops = part * double(forward_flops(shape, options));
    const double rate = flops * double(state.iterations()) / all_seconds;
    state.counters["flops"] = flops;
    state.counters["flops_per_second"] = rate;
    state.counters["peak_share"] = rate / peak;
    state.counters["peak_flops_per_second"] = peak;
    state.counters["read_bytes"] = double(traffic.read_bytes);
    state.counters["written_bytes"] = double(traffic.written_bytes);
    state.counters["scratch_bytes"] = double(scratch.peak_bytes());
    state.counters["operand_bytes"] = double(4 * operands().q.bytes());
    state.counters["l2_bytes"] = double(device().l2_bytes);
  }

 private:
  // Once for all that is timed in this run.
  static double measured_peak() {
    static const double peak = cublas_fp32_peak();
    return peak;
  }

  // By asking for it: how much of the memory is free, only the driver knows.
  static bool fits(Index bytes) {
    try {
      const DeviceBuffer<char> probe("scratch", bytes);
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }
};

// Standard attention by cuBLAS, the yardstick. Its bytes are those of three kernels that touch each operand once: what
// cuBLAS really asks for is more, and its own affair.
inline void cublas(benchmark::State& state) {
  TimedRun run(state);
  const Index scores = score_elements(run.shape) * Index{sizeof(float)};
  run.time(state, "cublas", standard_forward_traffic(run.shape), scores, [&](TimedRun::Operands& all) {
    cublas_standard_attention(all.q.data(), all.k.data(), all.v.data(), all.out.data(), run.shape, run.options,
                              run.scratch);
  });
}

// Times of CUDA events; repetitions for the median, each of at least 50 ms, which one run of a slow one exceeds.
inline void timed(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.05)->Repetitions(5)->DisplayAggregatesOnly(true);
}

// N = 16384 first: the memory that its S and P leave behind is enough for all others.
inline void every_length(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"N", "D", "causal"});
  for (const Index D : {64, 128}) {
    for (Index N = TimedRun::tokens; N >= 512; N /= 2) benchmark->Args({N, D, 0});
    benchmark->Args({4096, D, 1});
  }
}

}  // namespace fa
