// Two threads, one element, and at least one of them writes: the emulator reports it unless a barrier lies between, in
// whichever order the threads happen to run, and so also where the answer happens to be right.

#include "simt/shadow.h"
#include "simt_support.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using fa::simt::Access;
using fa::simt::fault_of;
using fa::simt::in_each_order;

// ---- Within a block

enum class Memory { shared, dynamic, hbm };
enum class Between { nothing, shuffle, warp_barrier, block_barrier };

template <class Elements>
__device__ void touch(Elements&& elements, Access access) {
  if (access == Access::read && elements[5] == -1) elements[5] = -1;
  if (access == Access::write) elements[5] = 7;
  if (access == Access::atomic) atomicAdd(&elements[5], 1);
}

template <class Elements>
__device__ void touch_twice(Elements&& elements, int a, int b, Access first, Access second, Between between) {
  if (int(threadIdx.x) < 8) elements[int(threadIdx.x)] = 0;
  __syncthreads();
  if (int(threadIdx.x) == a) touch(elements, first);
  if (between == Between::shuffle) __shfl_xor_sync(0xffff'ffff, 1, 1);
  if (between == Between::warp_barrier) __syncwarp();
  if (between == Between::block_barrier) __syncthreads();
  if (int(threadIdx.x) == b) touch(elements, second);
}

// Thread `a` does `first`, thread `b` does `second`.
__global__ void race_kernel(fa::hbm<int> elements, Memory memory, int a, int b, Access first, Access second,
                            Between between) {
  __shared__ fa::shared<int, 8> tile;
  fa::DynamicShared dynamic;
  if (memory == Memory::hbm) touch_twice(elements, a, b, first, second, between);
  if (memory == Memory::dynamic) touch_twice(dynamic.array<int>("tile", 8), a, b, first, second, between);
  if (memory == Memory::shared) touch_twice(tile, a, b, first, second, between);
}

std::string run_race(Memory memory, int a, int b, Access first, Access second, Between between) {
  fa::DeviceBuffer<int> elements("elements", 8);
  return fault_of(
      [&] { fa::launch<race_kernel>({{1}, {96}, 32}, elements.data(), memory, a, b, first, second, between); });
}

constexpr Memory kMemories[] = {Memory::shared, Memory::dynamic, Memory::hbm};
constexpr Access kAccesses[] = {Access::read, Access::write, Access::atomic};

std::string past(Access access) {
  return access == Access::read ? " read it" : access == Access::write ? " wrote it" : " updated it atomically";
}
std::string present(Access access) {
  return access == Access::read ? " reads it" : access == Access::write ? " writes it" : " updates it atomically";
}
std::string name(int thread) { return "thread (" + std::to_string(thread) + ", 0, 0)"; }

bool harmless(Access first, Access second) { return first == second && first != Access::write; }

// Calls it with each kind of memory and each two accesses that need an order; two threads of one warp, and of two.
template <class Call>
void for_each_race(Call call) {
  for (const Memory memory : kMemories) {
    for (const Access first : kAccesses) {
      for (const Access second : kAccesses) {
        if (harmless(first, second)) continue;
        for (const int b : {10, 40}) {
          INFO("memory " << int(memory) << ": " << name(9) << past(first) << ", " << name(b) << present(second));
          call(memory, b, first, second);
        }
      }
    }
  }
}

void check_race(const std::string& message, int a, int b, Access first, Access second, Memory memory) {
  const std::string where = memory == Memory::hbm ? "HBM: elements[5]" : "shared memory: tile[5]";
  CHECK_THAT(message, ContainsSubstring(where + " is touched by two threads with no barrier between\n" +
                                        "  in race_kernel, block (0, 0, 0), thread ("));
  const std::string as_written = "  " + name(a) + past(first) + ",\n  " + name(b) + present(second);
  const std::string turned = "  " + name(b) + past(second) + ",\n  " + name(a) + present(first);
  CHECK_THAT(message, ContainsSubstring(as_written) || ContainsSubstring(turned));
}

}  // namespace

TEST_CASE("read after write, write after read, write after write: without a barrier each is a race") {
  in_each_order([] {
    for_each_race([](Memory memory, int b, Access first, Access second) {
      check_race(run_race(memory, 9, b, first, second, Between::nothing), 9, b, first, second, memory);
    });
  });
}

TEST_CASE("a barrier of the block between them, and it is none") {
  in_each_order([] {
    for_each_race([](Memory memory, int b, Access first, Access second) {
      CHECK(run_race(memory, 9, b, first, second, Between::block_barrier).empty());
    });
  });
}

TEST_CASE("a barrier of the warp orders its own lanes, and nobody else") {
  in_each_order([] {
    for_each_race([](Memory memory, int b, Access first, Access second) {
      const std::string message = run_race(memory, 9, b, first, second, Between::warp_barrier);
      if (b == 10) {
        CHECK(message.empty());
      } else {
        check_race(message, 9, b, first, second, memory);
      }
    });
  });
}

TEST_CASE("a shuffle is no barrier") {
  in_each_order([] {
    for_each_race([](Memory memory, int b, Access first, Access second) {
      check_race(run_race(memory, 9, b, first, second, Between::shuffle), 9, b, first, second, memory);
    });
  });
}

TEST_CASE("reads need no order, atomic operations need none among themselves, and a thread needs none with itself") {
  in_each_order([] {
    for (const Memory memory : kMemories) {
      for (const Access access : {Access::read, Access::atomic}) {
        CHECK(run_race(memory, 9, 10, access, access, Between::nothing).empty());
        CHECK(run_race(memory, 9, 40, access, access, Between::nothing).empty());
      }
      for (const Access first : kAccesses) {
        for (const Access second : kAccesses) CHECK(run_race(memory, 9, 9, first, second, Between::nothing).empty());
      }
    }
  });
}

TEST_CASE("without checks no race is looked for") {
  const fa::simt::With settings({.checks = false});
  for_each_race([](Memory memory, int b, Access first, Access second) {
    CHECK(run_race(memory, 9, b, first, second, Between::nothing).empty());
  });
}

// ---- Between blocks

namespace {

// Block 1 does `first`, block 2 does `second`, each by one thread; a barrier within a block does not help.
__global__ void blocks_kernel(fa::hbm<int> elements, Access first, Access second) {
  if (blockIdx.x == 1 && threadIdx.x == 3) touch(elements, first);
  __syncthreads();
  if (blockIdx.x == 2 && threadIdx.x == 40) touch(elements, second);
}

std::string run_blocks(Access first, Access second) {
  fa::DeviceBuffer<int> elements("elements", std::vector<int>(8));
  return fault_of([&] { fa::launch<blocks_kernel>({{4}, {64}}, elements.data(), first, second); });
}

}  // namespace

TEST_CASE("two blocks that touch one element race, whichever runs first") {
  for (const int workers : {1, 2, 3}) {
    const fa::simt::With settings(fa::simt::with_workers(workers));
    for (const Access first : kAccesses) {
      for (const Access second : kAccesses) {
        INFO("block 1" << past(first) << ", block 2" << past(second) << ", workers " << workers);
        const std::string message = run_blocks(first, second);
        if (harmless(first, second)) {
          CHECK(message.empty());
          continue;
        }
        CHECK_THAT(message,
                   ContainsSubstring(
                       "HBM: elements[5] is touched by two blocks, which run in no order\n  in blocks_kernel, "));
        const std::string block_1 = "block (1, 0, 0), " + name(3), block_2 = "block (2, 0, 0), " + name(40);
        CHECK_THAT(message, ContainsSubstring(block_1 + past(first) + ",\n  " + block_2 + present(second)) ||
                                ContainsSubstring(block_2 + past(second) + ",\n  " + block_1 + present(first)));
        CHECK_THAT(message, ContainsSubstring(" in the same launch"));
      }
    }
  }
}

TEST_CASE("two launches that touch one element do not race") {
  fa::DeviceBuffer<int> elements("elements", std::vector<int>(8));
  for (const Access first : kAccesses) {
    for (const Access second : kAccesses) {
      fa::launch<blocks_kernel>({{2}, {64}}, elements.data(), first, Access::read);
      fa::launch<blocks_kernel>({{2}, {64}}, elements.data(), second, Access::read);
    }
  }
}

// ---- Many readers, one writer: each reader counts, not only the last

namespace {

// The threads of `readers`, a bit for each of 64, read; after that, but for thread `writer` without a barrier, it
// writes.
__global__ void readers_kernel(fa::hbm<int> elements, unsigned long long readers, int writer, bool warp_barrier) {
  const int me = int(threadIdx.x);
  if ((readers >> me & 1u) != 0) touch(elements, Access::read);
  if (warp_barrier) __syncwarp();
  if (me == writer) touch(elements, Access::write);
}

bool readers_race(unsigned long long readers, int writer, bool warp_barrier) {
  fa::DeviceBuffer<int> elements("elements", std::vector<int>(8));
  return !fault_of([&] {
            fa::launch<readers_kernel>({{1}, {64}}, elements.data(), readers, writer, warp_barrier);
          }).empty();
}

}  // namespace

TEST_CASE("a write after many reads races with any one of them") {
  in_each_order([] {
    for (int reader = 0; reader < 64; ++reader) {
      const unsigned long long alone = 1ull << reader, all = ~0ull;
      CHECK(readers_race(alone, 20, false) == (reader != 20));
      CHECK(readers_race(alone, 20, true) == (reader >= 32));
      CHECK(readers_race(alone | 1ull << 20, 20, false) == (reader != 20));
      CHECK(readers_race(all, reader, true));
    }
    CHECK_FALSE(readers_race(0xffff'ffffull, 20, true));
    CHECK_FALSE(readers_race(0xffff'ffffull << 32, 50, true));
  });
}

namespace {

// Thread 9 writes behind the __syncwarp, and `reader` reads.
__global__ void after_syncwarp_kernel(fa::hbm<int> elements, int reader) {
  __syncwarp();
  if (threadIdx.x == 9) touch(elements, Access::write);
  if (int(threadIdx.x) == reader) touch(elements, Access::read);
}

}  // namespace

TEST_CASE("where a warp has met at __syncwarp, a race of its lanes says that none lies between") {
  constexpr const char* kSaid = "\n  and with no __syncwarp() of their warp between";
  fa::DeviceBuffer<int> elements("elements", std::vector<int>(8));
  const auto said = [&](int reader) {
    return fault_of([&] { fa::launch<after_syncwarp_kernel>({{1}, {64}}, elements.data(), reader); });
  };
  CHECK_THAT(said(10), ContainsSubstring("no barrier between") && ContainsSubstring(kSaid));
  CHECK_THAT(said(40), ContainsSubstring("no barrier between") && !ContainsSubstring(kSaid));
  CHECK_THAT(run_race(Memory::shared, 9, 10, Access::write, Access::read, Between::nothing),
             ContainsSubstring("no barrier between") && !ContainsSubstring(kSaid));
}
