// cuda/cublas/standard_attention.h: the yardstick of the benchmarks is exact attention too.

#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/cublas/standard_attention.h"
#include "fa/testing.h"

namespace {

using fa::Index;

// In T, as float. The inputs are numbers of T.
template <class T = float>
std::vector<float> run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                       fa::DeviceScratch& scratch) {
  const auto elements = [](const std::vector<float>& values) { return std::vector<T>(values.begin(), values.end()); };
  const fa::DeviceBuffer<T> q("q", elements(inputs.q)), k("k", elements(inputs.k)), v("v", elements(inputs.v));
  fa::DeviceBuffer<T> out("out", fa::query_elements(shape));
  fa::cublas_standard_attention<T>(q.data(), k.data(), v.data(), out.data(), shape, options, scratch);
  if constexpr (std::is_same_v<T, float>) {
    return out.to_host();
  } else {
    return fa::widened<T>(out.to_host());
  }
}

template <fa::HalfPrecision T>
void check_half(const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options, fa::unit_roundoff<T>);
  fa::Inputs inputs = fa::make_inputs(shape);
  for (std::vector<float>* values : {&inputs.q, &inputs.k, &inputs.v}) {
    *values = fa::widened<T>(fa::rounded<T>(*values));
  }
  const auto expected = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options).out;
  fa::DeviceScratch scratch;
  fa::check_close("out", run<T>(inputs, shape, options, scratch), expected,
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, expected, shape, options, fa::unit_roundoff<T>));
  CHECK(scratch.peak_bytes() == fa::score_elements(shape) * 2);
}

void check(const fa::Shape& shape, const fa::Options& options, fa::InputKind kind) {
  CAPTURE(shape, options, fa::name_of(kind));
  const fa::Inputs inputs = fa::make_inputs(shape, kind);
  const auto expected = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options).out;
  fa::DeviceScratch scratch;
  fa::check_close("out", run(inputs, shape, options, scratch), expected,
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, expected, shape, options));
  CHECK(scratch.peak_bytes() == fa::score_elements(shape) * 4);
  CHECK(scratch.bytes_in_use() == 0);
}

}  // namespace

TEST_CASE("cuBLAS's attention agrees with the oracle, for ragged shapes, with and without a mask") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    if (shape.Nq == 0 || shape.Nk == 0) continue;
    for (const bool causal : {false, true}) check(shape, {.causal = causal, .scale = {}}, fa::InputKind::normal);
  }
}

TEST_CASE("cuBLAS's attention agrees with the oracle, for rows longer than a block reads at once") {
  for (const Index Nk : {4096, 4100, 4101}) {
    for (const bool causal : {false, true}) {
      check({.B = 1, .H = 2, .Nq = 70, .Nk = Nk, .D = 8}, {.causal = causal, .scale = 0.5f}, fa::InputKind::normal);
    }
  }
}

TEST_CASE("cuBLAS's attention agrees with the oracle, for scores of any size") {
  for (const fa::InputKind kind : fa::all_input_kinds) {
    check({.B = 2, .H = 3, .Nq = 33, .Nk = 40, .D = 20}, {}, kind);
  }
}

TEST_CASE("cuBLAS's attention in half precision agrees with the oracle, for ragged shapes and long rows") {
  std::vector<fa::Shape> shapes(std::begin(fa::ragged_shapes), std::end(fa::ragged_shapes));
  for (const Index Nk : {4096, 4100, 9000}) shapes.push_back({.B = 1, .H = 2, .Nq = 70, .Nk = Nk, .D = 8});
  for (const fa::Shape& shape : shapes) {
    if (shape.Nq == 0 || shape.Nk == 0) continue;
    for (const bool causal : {false, true}) {
      check_half<fa::half>(shape, {.causal = causal, .scale = {}});
      check_half<fa::bfloat16>(shape, {.causal = causal, .scale = {}});
    }
  }
}

TEST_CASE("cuBLAS's attention refuses what it cannot do, by name") {
  const fa::Inputs inputs = fa::make_inputs({});
  fa::DeviceScratch scratch;
  fa::check_rejects([&] { run(inputs, {.Nq = 0}, {}, scratch); }, "Nq = 0: must be at least 1");
  fa::check_rejects([&] { run(inputs, {.Nk = 0}, {}, scratch); }, "Nk = 0: must be at least 1");
  fa::check_rejects([&] { run(inputs, {.D = 0}, {}, scratch); }, "D = 0: must be at least 1");
  const float infinite = std::numeric_limits<float>::infinity();
  fa::check_rejects([&] { run(inputs, {}, {.causal = false, .scale = infinite}, scratch); }, "scale = inf");
}

TEST_CASE("the measured peaks are plausible numbers of FLOP/s") {
  const double peak = fa::cublas_fp32_peak();
  CHECK(peak > 1e12);
  CHECK(peak < 1e15);
  for (const double in_half : {fa::cublas_peak<fa::half>(), fa::cublas_peak<fa::bfloat16>()}) {
    CHECK(in_half > peak);
    CHECK(in_half < 1e16);
  }
}
