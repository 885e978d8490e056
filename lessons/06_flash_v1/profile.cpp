// Lesson 06, run once for a profiler: initialize, then all tiles. fa/profile.h tells the arguments and what is printed.

#include "fa/profile.h"

#include <stdexcept>
#include <string>

#include "attention_forward.h"
#include "fa/traffic.h"

namespace {

void validate(const fa::ProfileRun& run) {
  const fa::Index asked = lesson::shared_memory_bytes(run.tiles, run.shape.D);
  const fa::Index limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::invalid_argument("--br = " + std::to_string(run.tiles.Br) + ", --bc = " + std::to_string(run.tiles.Bc) +
                              ": need " + std::to_string(asked) + " bytes of shared memory at --d = " +
                              std::to_string(run.shape.D) + ": must be at most " + std::to_string(limit));
}

fa::Traffic formula(const fa::ProfileRun& run) { return fa::v1_forward_traffic(run.shape, run.options, run.tiles); }

void forward(const fa::ProfileRun& run, const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
             const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out) {
  fa::DeviceScratch scratch;
  fa::DeviceBuffer<float> m = scratch.allocate<float>("m", fa::query_rows(run.shape));
  fa::DeviceBuffer<float> l = scratch.allocate<float>("l", fa::query_rows(run.shape));
  lesson::attention_forward(q, k, v, out, m, l, run.shape, run.options, run.tiles);
}

}  // namespace

int main(int argc, char** argv) {
  return fa::profile(argc, argv,
                     {.kernels = {"initialize_kernel", "attention_forward_kernel"},
                      .validate = validate,
                      .formula = formula,
                      .forward = forward});
}
