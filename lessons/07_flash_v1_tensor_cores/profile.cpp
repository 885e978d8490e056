// Lesson 07, run once for a profiler, in fp16. With --mma in the first place: the given kernel, attention_forward_mma.
// fa/profile.h tells the other arguments and what is printed.

#include "fa/profile.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/traffic.h"

namespace {

using T = fa::half;

// What the kernel would refuse, in the words of this program's flags.
void require(bool allowed, const char* flag, fa::Index value, const std::string& must) {
  if (!allowed) throw std::invalid_argument(flag + (" = " + std::to_string(value)) + ": must be " + must);
}

void validate(const fa::ProfileRun& run, fa::Index most_Br, fa::Index factor_of_Bc, fa::Index shared_bytes) {
  const auto& [Br, Bc] = run.tiles;
  require(run.shape.D == 64 || run.shape.D == 128, "--d", run.shape.D, "64 or 128");
  require(Br % lesson::kRows == 0 && Br <= most_Br, "--br", Br, "a multiple of 16, at most " + std::to_string(most_Br));
  require(Bc % factor_of_Bc == 0, "--bc", Bc, "a multiple of " + std::to_string(factor_of_Bc));
  const fa::Index limit = fa::device().shared_bytes_per_block;
  if (shared_bytes <= limit) return;
  throw std::invalid_argument(
      "--br = " + std::to_string(Br) + ", --bc = " + std::to_string(Bc) + ": need " + std::to_string(shared_bytes) +
      " bytes of shared memory at --d = " + std::to_string(run.shape.D) + ": must be at most " + std::to_string(limit));
}

// Whatever Br, queries meet a K/V tile in groups of kRows.
fa::Traffic formula(const fa::ProfileRun& run) {
  return fa::v1_tensor_core_traffic(run.shape, run.options, {lesson::kRows, run.tiles.Bc});
}

template <auto attention>
int forward(const fa::ProfileRun& run) {
  fa::Inputs inputs = fa::make_inputs(run.shape);
  const auto rounded = [](std::vector<float>& values) {
    const std::vector<T> elements = fa::rounded<T>(values);
    values = fa::widened<T>(elements);
    return elements;
  };
  const fa::DeviceBuffer<T> q("q", rounded(inputs.q)), k("k", rounded(inputs.k)), v("v", rounded(inputs.v));
  fa::DeviceBuffer<T> out("out", fa::query_elements(run.shape));
  fa::DeviceScratch scratch;
  lesson::State state(scratch, run.shape);
  attention(q, k, v, out, state, run.shape, run.options, run.tiles);
  return fa::check_rows("the result", inputs.q, inputs.k, inputs.v, out, run.shape, run.options, fa::unit_roundoff<T>);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr fa::Tiles tiles{.Br = 64, .Bc = 64};
  if (argc > 1 && argv[1] == std::string_view("--mma")) {
    argv[1] = argv[0];
    return fa::profile(argc - 1, argv + 1,
                       {.kernels = {"attention_forward_mma_kernel"},
                        .format = "fp16",
                        .tiles = tiles,
                        .validate =
                            [](const fa::ProfileRun& run) {
                              validate(run, 128, 64, lesson::shared_memory_bytes_mma(run.tiles, run.shape.D));
                            },
                        .formula = formula,
                        .run = forward<lesson::attention_forward_mma<T>>});
  }
  return fa::profile(argc, argv,
                     {.kernels = {"attention_forward_kernel"},
                      .format = "fp16",
                      .tiles = tiles,
                      .validate =
                          [](const fa::ProfileRun& run) {
                            validate(run, 256, 16, lesson::shared_memory_bytes(run.tiles, run.shape.D));
                          },
                      .formula = formula,
                      .run = forward<lesson::attention_forward<T>>});
}
