// Benchmarks on a GPU: how long attention takes, at the sizes of FlashAttention's papers. Random inputs; times of CUDA
// events.
//
// In float, 16384 tokens in all and a hidden size of 2048, so that q, k, v and out have the same size for each N and
// each D: 128 MiB each. Longer sequences mean fewer of them. L2 is not flushed between the runs. It need not be: q, k,
// v and out alone are more than eight times as large as the L2 of an H200.
//
// Another shape, or half precision, is up to the lesson. The counters l2_bytes and operand_bytes say of every row
// whether L2 could hold the operands.

#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/cublas/standard_attention.h"
#include "cuda/device.h"
#include "fa/half.h"
#include "fa/inputs.h"
#include "fa/poison.h"
#include "fa/row_check.h"
#include "fa/traffic.h"

namespace fa {

// Random q, k and v of so many elements, and room for out.
template <class T>
class TimedOperands {
 public:
  explicit TimedOperands(Index elements) : q("q", elements), k("k", elements), v("v", elements), out("out", elements) {
    for (const auto& [buffer, seed] : {std::pair{&q, 1}, {&k, 2}, {&v, 3}}) {
      for (Index at = 0; at < elements; at += period) {
        buffer->from_host(std::span(values(seed).elements).first(std::size_t(std::min(period, elements - at))), at);
      }
    }
  }

  // As floats, what q, k and v hold. Large ones repeat it, after a whole number of heads.
  std::span<const float> q_values() const { return first(values(1).floats); }
  std::span<const float> k_values() const { return first(values(2).floats); }
  std::span<const float> v_values() const { return first(values(3).floats); }

  DeviceBuffer<T> q, k, v, out;

 private:
  static constexpr Index period = Index{1} << 23;  // a head of N = 65536, D = 128

  struct Values {
    std::vector<T> elements;
    std::vector<float> floats;
  };
  static const Values& values(int seed) {
    static std::map<int, Values> known;
    Values& found = known[seed];
    if (found.elements.empty()) {
      const std::vector<float> normal = normal_values(period, static_cast<std::uint64_t>(seed));
      found.elements.assign(normal.begin(), normal.end());
      for (const T& element : found.elements) found.floats.push_back(float(element));
    }
    return found;
  }
  std::span<const float> first(const std::vector<float>& floats) const {
    return std::span(floats).first(std::size_t(std::min(period, q.size())));
  }
};

template <class T>
struct TimedRunOf {
  static constexpr Index tokens = 16384, hidden_size = 2048;
  static constexpr double unit = [] {
    if constexpr (std::is_same_v<T, float>) {
      return 0.0;  // fa::forward_tolerance knows float by itself
    } else {
      return unit_roundoff<T>;
    }
  }();

  Shape shape;
  Options options;
  DeviceScratch scratch;

  TimedRunOf(const Shape& given, bool causal) : shape(given), options{.causal = causal} {
    set_synchronous_launches(false);
  }
  TimedRunOf(Index N, Index D, bool causal)
      : TimedRunOf(Shape{.B = tokens / N, .H = hidden_size / D, .Nq = N, .Nk = N, .D = D}, causal) {}
  // Of a benchmark whose first arguments are N, D and whether it is causal.
  explicit TimedRunOf(const benchmark::State& state)
      : TimedRunOf(state.range(0), state.range(1), state.range(2) != 0) {}

  // The same memory for all benchmarks, until another size is asked for.
  using Operands = TimedOperands<T>;
  Operands& operands() const {
    static std::unique_ptr<Operands> kept;
    if (!kept || kept->q.size() != query_elements(shape)) {
      kept.reset();
      kept = std::make_unique<Operands>(query_elements(shape));
    }
    return *kept;
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
      all.out.from_host(std::vector<T>(std::size_t(all.out.size()), unwritten<T>()));
      run(all);
      check_rows(key, all.q_values(), all.k_values(), all.v_values(), all.out, shape, options, unit);
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
    state.counters["operand_bytes"] = double(4 * query_elements(shape) * Index{sizeof(T)});
    state.counters["l2_bytes"] = double(device().l2_bytes);
  }

 private:
  // Once for all that is timed in this run.
  static double measured_peak() {
    static const double peak = cublas_peak<T>();
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

using TimedRun = TimedRunOf<float>;

// Standard attention by cuBLAS, the yardstick. Its bytes are those of three kernels that touch each operand once: what
// cuBLAS really asks for is more, and its own affair.
template <class T>
void time_cublas(benchmark::State& state, TimedRunOf<T> run) {
  const Index scores = score_elements(run.shape) * Index{sizeof(T)};
  run.time(state, "cublas", standard_forward_traffic(run.shape, sizeof(T)), scores, [&](auto& all) {
    cublas_standard_attention<T>(all.q.data(), all.k.data(), all.v.data(), all.out.data(), run.shape, run.options,
                                 run.scratch);
  });
}
inline void cublas(benchmark::State& state) { time_cublas(state, TimedRun(state)); }

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
