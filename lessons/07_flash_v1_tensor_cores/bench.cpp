// Lesson 07 on the emulator: the bytes of both kernels through HBM, for one head with D = 64.

#include <benchmark/benchmark.h>

#include "attention_forward.h"
#include "fa/inputs.h"
#include "fa/traffic.h"

namespace {

void v1_tensor_cores(benchmark::State& state) {
  const fa::Shape shape{.Nq = state.range(0), .Nk = state.range(0), .D = 64};
  const fa::Inputs inputs = fa::make_inputs(shape);
  const fa::DeviceBuffer<fa::half> q("q", fa::rounded<fa::half>(inputs.q)), k("k", fa::rounded<fa::half>(inputs.k)),
      v("v", fa::rounded<fa::half>(inputs.v));
  fa::DeviceBuffer<fa::half> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  lesson::State rows(scratch, shape);
  for (auto _ : state) lesson::attention_forward(q, k, v, out, rows, shape, {}, {.Br = 32, .Bc = 32});
}

}  // namespace

BENCHMARK(v1_tensor_cores)->ArgName("N")->Arg(64)->Iterations(1);
