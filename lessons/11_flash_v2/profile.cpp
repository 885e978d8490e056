// Lesson 11, run once for a profiler. fa/profile.h tells the arguments and what is printed.

#include "fa/profile.h"

#include <stdexcept>
#include <string>

#include "attention_forward.h"
#include "fa/traffic.h"

namespace {

constexpr fa::Tiles tiles{.Br = lesson::Br, .Bc = lesson::Bc};

// The tiles of this lesson are fixed, so another size is not profiled in silence.
void validate(const fa::ProfileRun& run) {
  const auto refuse = [](const char* flag, fa::Index value, const std::string& must) {
    throw std::invalid_argument(flag + (" = " + std::to_string(value)) + ": " + must);
  };
  if (run.tiles.Br != tiles.Br) refuse("--br", run.tiles.Br, "must be " + std::to_string(tiles.Br) + " in lesson 11");
  if (run.tiles.Bc != tiles.Bc) refuse("--bc", run.tiles.Bc, "must be " + std::to_string(tiles.Bc) + " in lesson 11");
  if (run.shape.D > 128) refuse("--d", run.shape.D, "must be at most 128");
  const fa::Index asked = lesson::shared_memory_bytes(run.shape.D), limit = fa::device().shared_bytes_per_block;
  if (asked > limit) {
    refuse("--d", run.shape.D,
           "needs " + std::to_string(asked) + " bytes of shared memory: must be at most " + std::to_string(limit));
  }
}

fa::Traffic formula(const fa::ProfileRun& run) { return fa::v2_forward_traffic(run.shape, run.options, run.tiles); }

void forward(const fa::ProfileRun& run, const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
             const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out) {
  fa::DeviceBuffer<float> lse("lse", fa::query_rows(run.shape));
  lesson::attention_forward(q, k, v, out, lse, run.shape, run.options);
}

}  // namespace

int main(int argc, char** argv) {
  return fa::profile(argc, argv,
                     {.kernels = {"attention_forward_kernel"},
                      .tiles = tiles,
                      .validate = validate,
                      .formula = formula,
                      .forward = forward});
}
