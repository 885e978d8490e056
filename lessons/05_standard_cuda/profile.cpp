// Lesson 05, run once for a profiler: scores, softmax, product. fa/profile.h tells the arguments and what is printed.

#include "fa/profile.h"

#include <stdexcept>
#include <string>

#include "attention_forward.h"

namespace {

// The tiles of this lesson are fixed, so another size is not profiled in silence.
void validate(const fa::ProfileRun& run) {
  for (const auto& [flag, rows] : {std::pair{"--br", run.tiles.Br}, std::pair{"--bc", run.tiles.Bc}}) {
    if (rows == lesson::tile) continue;
    throw std::invalid_argument(flag + (" = " + std::to_string(rows)) + ": must be " + std::to_string(lesson::tile) +
                                " in lesson 05");
  }
}

fa::Traffic formula(const fa::ProfileRun& run) { return lesson::forward_traffic(run.shape); }

void forward(const fa::ProfileRun& run, const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
             const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out) {
  fa::DeviceScratch scratch;
  lesson::attention_forward(q, k, v, out, run.shape, run.options, scratch);
}

}  // namespace

int main(int argc, char** argv) {
  return fa::profile(argc, argv,
                     {.kernels = {"scores_kernel", "softmax_kernel", "product_kernel"},
                      .validate = validate,
                      .formula = formula,
                      .forward = forward});
}
