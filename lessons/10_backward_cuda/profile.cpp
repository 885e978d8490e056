// Lesson 10, run once for a profiler: a training step, lesson 06 forward and this lesson backward, with the same tiles.
// With --standard in the first place: the standard step that it is compared with. fa/profile.h tells the other
// arguments and what is printed.

#include "fa/profile.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include "attention_backward.h"
#include "fa/head_check.h"
#include "training.h"

namespace {

void validate(const fa::ProfileRun& run) {
  const fa::Index asked = lesson::shared_memory_bytes(run.tiles, run.shape.D);
  const fa::Index limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::invalid_argument("--br = " + std::to_string(run.tiles.Br) + ", --bc = " + std::to_string(run.tiles.Bc) +
                              ": need " + std::to_string(asked) + " bytes of shared memory at --d = " +
                              std::to_string(run.shape.D) + ": must be at most " + std::to_string(limit));
}

training::Problem problem(const fa::ProfileRun& run) { return {run.shape, run.options, run.tiles}; }

template <class Step>
fa::Traffic formula(const fa::ProfileRun& run) {
  return Step::traffic(problem(run));
}

template <class Step>
int run_step(const fa::ProfileRun& run) {
  const fa::Inputs inputs = fa::make_inputs(run.shape);
  training::Operands operands(inputs);
  fa::DeviceScratch scratch;
  Step step{problem(run), operands, scratch};
  step.forward();
  step.backward();
  return fa::HeadCheck(inputs, run.shape, run.options).check("the result", operands.dq, operands.dk, operands.dv);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("--standard")) {
    argv[1] = argv[0];
    return fa::profile(argc - 1, argv + 1,
                       {.kernels = {"scores_kernel", "softmax_kernel", "product_kernel", "sum_over_queries_kernel",
                                    "weight_gradient_kernel", "score_gradient_kernel", "query_gradient_kernel",
                                    "sum_over_queries_kernel"},
                        .formula = formula<training::Standard>,
                        .run = run_step<training::Standard>});
  }
  return fa::profile(
      argc, argv,
      {.kernels = {"initialize_kernel", "attention_forward_kernel", "prepare_kernel", "attention_backward_kernel"},
       .validate = validate,
       .formula = formula<training::V1>,
       .run = run_step<training::V1>});
}
