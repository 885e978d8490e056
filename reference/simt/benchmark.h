// Benchmarks on the emulator: not how long a lesson takes, but what it moves and keeps.

#pragma once

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "fa/inputs.h"
#include "fa/shape.h"
#include "simt/device.h"

namespace fa {

// Only the bytes matter here: the tests have looked for faults. FA_SIMT_CHECKS=on looks all the same.
inline bool checks_wanted() { return std::getenv("FA_SIMT_CHECKS") != nullptr && simt::settings().checks; }

// Random operands of one head with N queries and N keys.
template <class T>
struct CountedHeadOf {
  bool checks = simt::settings().checks = checks_wanted();  // before there are buffers
  Shape shape;
  Inputs inputs = make_inputs(shape);
  DeviceBuffer<T> q{"q", elements(inputs.q)}, k{"k", elements(inputs.k)}, v{"v", elements(inputs.v)};
  DeviceBuffer<T> out{"out", query_elements(shape)};
  DeviceScratch scratch;

  explicit CountedHeadOf(Index N, Index D = 64) : shape{.B = 1, .H = 1, .Nq = N, .Nk = N, .D = D} {}

  // Runs the benchmark, and sets its counters: read_bytes and written_bytes through HBM, read_sectors and
  // written_sectors of 32 bytes; what `formula` says about the bytes; and scratch_bytes, the peak of `scratch`.
  template <class Run>
  void count(benchmark::State& state, const Traffic& formula, Run run) {
    DeviceMeter meter;
    for (auto _ : state) run();
    const auto set = [&](const char* counter, Index all) {
      state.counters[counter] = double(all) / double(state.iterations());
    };
    set("read_bytes", meter.total().read_bytes);
    set("written_bytes", meter.total().written_bytes);
    set("read_sectors", meter.read_sectors());
    set("written_sectors", meter.written_sectors());
    state.counters["formula_read_bytes"] = double(formula.read_bytes);
    state.counters["formula_written_bytes"] = double(formula.written_bytes);
    state.counters["scratch_bytes"] = double(scratch.peak_bytes());
  }

 private:
  static std::vector<T> elements(const std::vector<float>& values) { return {values.begin(), values.end()}; }
};

using CountedHead = CountedHeadOf<float>;

// Counts are the same in every iteration, so one is enough.
inline void count_once(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(1)->Unit(benchmark::kMillisecond);
}

}  // namespace fa
