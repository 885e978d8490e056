// Random kernels, run as they are on the emulator: whether it stops one for a race must be what a list of all accesses
// says, in every order of threads. (test_simt_shadow.cpp tries more interleavings, without kernels.)

#include <random>

#include "simt_happens_before.h"
#include "simt_support.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using fa::simt::Access;
using fa::simt::Event;
using fa::simt::HappensBefore;

constexpr int kThreads = 40;  // a warp and a ragged one
constexpr int kElements = 3;  // in shared memory; as many in HBM

enum class Kind { access, barrier, warp_barrier };

// A step of a block: an access by one thread, a barrier for all, or one for the warp of that thread. Elements past
// those of shared memory are of HBM.
struct Step {
  Kind kind = Kind::access;
  Event event;
};
using Program = std::vector<std::vector<Step>>;  // by block

// Each thread walks through the steps of its block and does what is for it.
__global__ void interpret_kernel(const Program* program, fa::hbm<int> in_hbm) {
  __shared__ fa::shared<int, kElements> in_shared;
  const int me = int(threadIdx.x);
  if (me < kElements) in_shared[me] = 0;
  __syncthreads();
  for (const auto& [kind, event] : (*program)[blockIdx.x]) {
    if (kind == Kind::barrier) __syncthreads();
    if (kind == Kind::warp_barrier && event.thread / 32 == me / 32) __syncwarp();
    if (kind != Kind::access || event.thread != me) continue;
    if (event.element < kElements) {
      if (event.access == Access::read && in_shared[event.element] < 0) return;
      if (event.access == Access::write) in_shared[event.element] = 1;
      if (event.access == Access::atomic) atomicAdd(&in_shared[event.element], 1);
    } else {
      if (event.access == Access::read && in_hbm[event.element - kElements] < 0) return;
      if (event.access == Access::write) in_hbm[event.element - kElements] = 1;
      if (event.access == Access::atomic) atomicAdd(&in_hbm[event.element - kElements], 1);
    }
  }
}

Program random_program(std::mt19937_64& random, int blocks) {
  const auto draw = [&](int count) { return int(random() % std::uint64_t(count)); };
  const int writes = draw(3) * 10, atomics = draw(3) * 20, barriers = 10 + draw(40), warp_barriers = draw(40);
  constexpr int threads[] = {0, 1, 17, 31, 32, 39};
  Program program(std::size_t(blocks), std::vector<Step>{});
  for (std::vector<Step>& steps : program) {
    for (int count = draw(25); count > 0; --count) {
      const int kind = draw(100), access = draw(100);
      Step step;
      step.event.block = int(&steps - program.data());
      step.event.thread = threads[draw(6)];
      step.event.element = draw(2 * kElements);
      step.event.access = access < writes ? Access::write : access < writes + atomics ? Access::atomic : Access::read;
      if (kind < barriers + warp_barriers) step.kind = kind < barriers ? Kind::barrier : Kind::warp_barrier;
      steps.push_back(step);
    }
  }
  return program;
}

// Whether two accesses of it race. What comes before what does not depend on the order in which blocks and threads run,
// so any will do: here it is block after block, step after step.
bool has_race(const Program& program) {
  HappensBefore truth(int(program.size()), kThreads);
  bool found = false;
  for (const std::vector<Step>& steps : program) {
    for (auto [kind, event] : steps) {
      std::vector<int> meeting;
      for (int thread = 0; thread < kThreads; ++thread) {
        if (kind == Kind::barrier || thread / 32 == event.thread / 32) meeting.push_back(thread);
      }
      if (kind != Kind::access) {
        truth.meet(event.block, meeting);
      } else {
        if (event.element < kElements) event.element += 1000 * (1 + event.block);  // each block has its own
        found = found || !truth.add(event).empty();
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("property: random kernels are stopped for a race if and only if they have one") {
  for (const int blocks : {1, 3}) {
    int racing = 0;
    constexpr int programs = 400;
    for (int seed = 0; seed < programs; ++seed) {
      INFO("seed " << seed << ", blocks " << blocks);
      std::mt19937_64 random{std::uint64_t(seed)};
      const Program program = random_program(random, blocks);
      const bool race = has_race(program);
      racing += int(race);
      fa::simt::in_each_order([&] {
        fa::DeviceBuffer<int> in_hbm("in_hbm", std::vector<int>(kElements));
        const std::string fault =
            fa::simt::fault_of([&] { fa::launch<interpret_kernel>({{blocks}, {kThreads}}, &program, in_hbm.data()); });
        CHECK(!fault.empty() == race);
        if (!fault.empty()) CHECK_THAT(fault, ContainsSubstring(" is touched by two "));
      });
    }
    CHECK(racing > programs / 10);
    CHECK(racing < programs - programs / 10);
  }
}
