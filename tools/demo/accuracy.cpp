// `./course demo accuracy`: the errors of lesson 07's kernels against the oracle, beside those of standard attention in
// the same format. Prints JSON for tools/course/demo_accuracy.py.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "arguments.h"
#include "attention_forward.h"
#include "fa/half_accuracy.h"
#include "fa/inputs.h"

namespace {

constexpr fa::Index kHeads = 2, kN = 127;  // as in the lesson's tests

std::string json(const char* name, const fa::AbsoluteError& error) {
  return std::string("\"") + name + "\": {\"largest\": " + demo::json(error.largest) +
         ", \"rms\": " + demo::json(error.root_mean_square) + "}";
}

// One line of the table.
template <class T>
std::string row(const char* format, fa::Index D, fa::InputKind kind, bool causal) {
  const fa::Shape shape{.B = 1, .H = kHeads, .Nq = kN, .Nk = kN, .D = D};
  const fa::Options options{.causal = causal};
  const fa::Inputs inputs = fa::make_inputs(shape, kind);
  const std::vector<T> q = fa::rounded<T>(inputs.q), k = fa::rounded<T>(inputs.k), v = fa::rounded<T>(inputs.v);
  const std::vector<float> exact_q = fa::widened<T>(q), exact_k = fa::widened<T>(k), exact_v = fa::widened<T>(v);
  const std::vector<double> exact = fa::attention_forward_oracle(exact_q, exact_k, exact_v, shape, options).out;

  const fa::DeviceBuffer<T> on_device[] = {{"q", q}, {"k", k}, {"v", v}};
  fa::DeviceBuffer<T> out("out", fa::query_elements(shape));
  fa::DeviceScratch scratch;
  lesson::State state(scratch, shape);
  const auto error_of = [&](auto function, const fa::Tiles& tiles) {
    function(on_device[0], on_device[1], on_device[2], out, state, shape, options, tiles);
    return fa::absolute_error(fa::widened<T>(out.to_host()), exact);
  };
  const std::vector<float> standard = fa::standard_attention_in_half<T>(exact_q, exact_k, exact_v, shape, options);
  return std::string("{\"format\": \"") + format + "\", \"D\": " + std::to_string(D) + ", \"inputs\": \"" +
         std::string(fa::name_of(kind)) + "\", \"causal\": " + (causal ? "true" : "false") +
         ", \"floor\": " + demo::json(fa::accuracy_floor<T>) + ", " +
         json("standard", fa::absolute_error(standard, exact)) + ", " +
         json("wmma", error_of(lesson::attention_forward<T>, {.Br = 48, .Bc = 32})) + ", " +
         json("mma", error_of(lesson::attention_forward_mma<T>, {.Br = 48, .Bc = 64})) + "}";
}

}  // namespace

int main(int argc, char** argv) try {
  const demo::Arguments none(argc, argv, {});
  std::string rows;
  for (const fa::Index D : {64, 128}) {
    for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::outliers}) {
      for (const bool causal : {false, true}) {
        rows += (rows.empty() ? "" : ", ") + row<fa::half>("fp16", D, kind, causal) + ", " +
                row<fa::bfloat16>("bfloat16", D, kind, causal);
      }
    }
  }
  std::printf("{\"heads\": %d, \"N\": %d, \"rows\": [%s]}\n", int(kHeads), int(kN), rows.c_str());
  return 0;
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "demo_accuracy: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_accuracy: %s\n", error.what());
  return 1;
}
