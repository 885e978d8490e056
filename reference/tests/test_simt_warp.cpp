// What the lanes of a warp do together, on the emulator: shuffles, votes, __syncwarp.

#include <cstdint>

#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::in_each_order;

constexpr unsigned kAll = 0xffff'ffff;

std::string at_line(int line) { return "test_simt_warp.cpp:" + std::to_string(line); }

enum Kind { direct, up, down, by_xor };

__global__ void shuffle_kernel(fa::hbm<int> out, int kind, int argument, int width) {
  const int me = int(threadIdx.x), value = 100 + me;
  int result = 0;
  if (kind == direct) result = __shfl_sync(kAll, value, argument, width);
  if (kind == up) result = __shfl_up_sync(kAll, value, unsigned(argument), width);
  if (kind == down) result = __shfl_down_sync(kAll, value, unsigned(argument), width);
  if (kind == by_xor) result = __shfl_xor_sync(kAll, value, argument, width);
  out[me] = result;
}

// The CUDA C++ Programming Guide, "Warp Shuffle Functions": the warp falls into segments of `width` lanes.
int source_by_the_guide(int kind, int lane, int argument, int width) {
  const int begin = lane / width * width, end = begin + width;
  int source = lane;
  if (kind == direct) source = begin + argument % width;
  if (kind == up) source = lane - argument;
  if (kind == down) source = lane + argument;
  if (kind == by_xor) source = lane ^ argument;
  if (kind == by_xor && source < begin) return source;  // an earlier segment may be read
  return source >= begin && source < end ? source : lane;
}

}  // namespace

TEST_CASE("shuffles give the values that the programming guide says, for every width") {
  in_each_order([] {
    for (const int kind : {direct, up, down, by_xor}) {
      for (const int width : {1, 2, 4, 8, 16, 32}) {
        for (const int argument : {0, 1, 2, 5, 16, 31}) {
          fa::DeviceBuffer<int> out("out", 64);
          fa::launch<shuffle_kernel>({{1}, {64}}, out.data(), kind, argument, width);
          std::vector<int> expected;
          for (int e = 0; e < 64; ++e) {
            expected.push_back(100 + e / 32 * 32 + source_by_the_guide(kind, e % 32, argument, width));
          }
          CHECK(out.to_host() == expected);
        }
      }
    }
  });
}

namespace {

template <class T>
__global__ void reduce_kernel(fa::hbm<const T> in, fa::hbm<T> out) {
  T sum = in[int(threadIdx.x)];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
  out[int(threadIdx.x)] = sum;
}

template <class T>
void check_reduction() {
  const fa::DeviceBuffer<T> in("in", fa::simt::counting_up<T>(32));
  fa::DeviceBuffer<T> out("out", 32);
  fa::launch<reduce_kernel<T>>({{1}, {32}}, in.data(), out.data());
  CHECK(out.to_host() == std::vector<T>(32, T(496)));
}

__global__ void vote_kernel(fa::hbm<int> out, unsigned votes) {
  const unsigned lane = threadIdx.x % 32;
  const int predicate = (votes >> lane & 1u) != 0 ? 8 : 0;  // any value but 0 is a yes
  const int any = __any_sync(kAll, predicate), all = __all_sync(kAll, predicate);
  const unsigned ballot = __ballot_sync(kAll, predicate);
  out[int(threadIdx.x)] = (any == 0 ? 0 : 1) + (all == 0 ? 0 : 2) + (ballot == votes ? 4 : 0);
}

int voted(unsigned votes, int threads) {
  fa::DeviceBuffer<int> out("out", threads);
  fa::launch<vote_kernel>({{1}, {threads}}, out.data(), votes);
  const std::vector<int> result = out.to_host();
  CHECK(result == std::vector<int>(std::size_t(threads), result[0]));
  return result[0];
}

}  // namespace

TEST_CASE("shuffles carry values of every type up to 8 bytes") {
  in_each_order([] {
    check_reduction<float>();
    check_reduction<double>();
    check_reduction<int>();
    check_reduction<unsigned>();
    check_reduction<std::int16_t>();
    check_reduction<std::int64_t>();
  });
}

TEST_CASE("votes count the lanes that exist") {
  in_each_order([] {
    CHECK(voted(0, 32) == 4);
    CHECK(voted(0x0000'0400, 32) == 1 + 4);
    CHECK(voted(0x7fff'ffff, 32) == 1 + 4);
    CHECK(voted(kAll, 32) == 1 + 2 + 4);
    CHECK(voted(0x0000'001f, 5) == 1 + 2 + 4);
    CHECK(voted(0x0000'000f, 5) == 1 + 4);
  });
}

// ---- Masks

namespace {

// The lower and the upper half of a warp each sum up their own; the upper one twice as often.
__global__ void halves_kernel(fa::hbm<int> out) {
  const bool lower = threadIdx.x < 16;
  const unsigned mask = lower ? 0x0000'ffff : 0xffff'0000;
  int sum = 1;
  for (int round = 0; round < (lower ? 1 : 2); ++round) {
    for (int distance = 8; distance > 0; distance /= 2) sum += __shfl_xor_sync(mask, sum, distance);
    __syncwarp(mask);
  }
  out[int(threadIdx.x)] = sum;
}

// Lanes meet in pairs: 0 with 1, then 1 with 2, then 2 with 3, ...
__global__ void chain_kernel(fa::hbm<int> out) {
  __shared__ fa::shared<int, 32> sums;
  const int lane = int(threadIdx.x);
  if (lane == 0) sums[0] = 0;
  if (lane > 0) {
    __syncwarp(3u << (lane - 1));
    sums[lane] = sums[lane - 1] + lane;
  }
  if (lane < 31) __syncwarp(3u << lane);
  out[lane] = sums[lane];
}

}  // namespace

TEST_CASE("lanes of different masks go their own ways") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", 32);
    fa::launch<halves_kernel>({{1}, {32}}, out.data());
    std::vector<int> expected(32, 16);
    std::fill(expected.begin() + 16, expected.end(), 256);
    CHECK(out.to_host() == expected);
  });
}

TEST_CASE("a lane may wait for one that is still busy with others") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", 32);
    fa::launch<chain_kernel>({{1}, {32}}, out.data());
    for (int lane = 0; lane < 32; ++lane) CHECK(out.to_host()[std::size_t(lane)] == lane * (lane + 1) / 2);
  });
}

namespace {

__global__ void both_sides_kernel() {
  if (threadIdx.x % 2 == 0) {
    __syncwarp();
  } else {
    __syncwarp();
  }
}

}  // namespace

TEST_CASE("lanes may come to one __syncwarp from both sides of a branch") {
  in_each_order([] { fa::launch<both_sides_kernel>({{1}, {64}}); });
}

// ---- Faults

namespace {

enum Fault {
  leaves_out_caller,
  one_leaves,
  one_waits_elsewhere,
  bad_width,
  other_operation,
  other_mask,
  other_line,
  other_column,
  sync_and_vote
};

__global__ void faulty_kernel(int fault, int width = 32) {
  const int lane = int(threadIdx.x) % 32;
  const bool odd_one = lane == 7;
  if (fault == leaves_out_caller) __shfl_sync(0xffff'ff7f, lane, 0);
  if (fault == one_leaves && !odd_one) __ballot_sync(kAll, 1);
  if (fault == one_waits_elsewhere) odd_one ? __syncthreads() : __syncwarp();
  if (fault == bad_width) __shfl_down_sync(kAll, lane, 1, width);
  if (fault == other_operation) odd_one ? __any_sync(kAll, 1) : __all_sync(kAll, 1);
  if (fault == other_mask) __syncwarp(odd_one ? 0x0000'00ff : kAll);
  if (fault == other_line && odd_one) __shfl_up_sync(kAll, lane, 1);
  if (fault == other_line && !odd_one) __shfl_up_sync(kAll, lane, 1);
  if (fault == other_column) odd_one ? __any_sync(kAll, 1) : __any_sync(kAll, 0);
  if (fault == sync_and_vote) lane == 31 ? __syncwarp() : void(__any_sync(kAll, 1));
}
constexpr int kFaultyLine = __LINE__ - 11;  // of the first fault

void check_faulty(int fault, std::initializer_list<std::string> texts, int width = 32) {
  in_each_order([&] { check_fault([&] { fa::launch<faulty_kernel>({{1}, {64}}, fault, width); }, texts); });
}

}  // namespace

TEST_CASE("a mask that leaves out the lane that calls is reported") {
  check_faulty(leaves_out_caller,
               {"__shfl_sync with a mask that leaves out the lane that calls it\n  in faulty_kernel, block (0, 0, 0)",
                "at " + at_line(kFaultyLine) + "; the mask is 0xffffff7f, the lane is 7"});
}

TEST_CASE("a warp operation that some lanes do not reach is reported") {
  check_faulty(one_leaves, {"__ballot_sync that not all lanes of its mask reach\n  in faulty_kernel, block (0, 0, 0)",
                            "waits at __ballot_sync at " + at_line(kFaultyLine + 1) + ", with the mask 0xffffffff",
                            "thread (7, 0, 0) has come to the end of the kernel"});
  check_faulty(one_waits_elsewhere, {"__syncwarp that not all lanes of its mask reach",
                                     "thread (7, 0, 0) waits at the barrier at " + at_line(kFaultyLine + 2)});
}

TEST_CASE("lanes that call different operations, or with different masks, or in different lines, are reported") {
  check_faulty(other_operation, {"that not all lanes of its mask reach", "waits at __all_sync at ",
                                 "thread (7, 0, 0) waits at __any_sync at " + at_line(kFaultyLine + 4)});
  check_faulty(other_mask,
               {"__syncwarp that not all lanes of its mask reach", "with the mask 0xffffffff",
                "thread (7, 0, 0) waits at __syncwarp at " + at_line(kFaultyLine + 5) + ", with the mask 0x000000ff"});
  check_faulty(other_line, {"__shfl_up_sync that not all lanes of its mask reach", at_line(kFaultyLine + 6),
                            at_line(kFaultyLine + 7)});
  check_faulty(other_column,
               {"__any_sync that not all lanes of its mask reach", at_line(kFaultyLine + 8) + ", column "});
  check_faulty(sync_and_vote, {"__any_sync that not all lanes of its mask reach",
                               "thread (31, 0, 0) waits at __syncwarp at " + at_line(kFaultyLine + 9)});
}

TEST_CASE("a width that is no power of two, or too large, is reported") {
  for (const int width : {-1, 0, 12, 64}) {
    check_faulty(bad_width,
                 {"__shfl_down_sync with width = " + std::to_string(width) + ": must be 1, 2, 4, 8, 16 or 32",
                  at_line(kFaultyLine + 3)},
                 width);
  }
}

namespace {

__global__ void ragged_kernel() { __shfl_xor_sync(kAll, 1, 16); }
__global__ void masked_kernel() {
  if (threadIdx.x < 8) __shfl_down_sync(0xff, 1, 4);
}

}  // namespace

TEST_CASE("a shuffle that reads a lane which does not take part is reported") {
  in_each_order([] {
    check_fault([] { fa::launch<ragged_kernel>({{1}, {32 + 16}}); },
                {"__shfl_xor_sync reads lane 16, which does not take part\n  in ragged_kernel, block (0, 0, 0), thread "
                 "(32, 0, 0)",
                 "the mask is 0xffffffff, the lanes of it that exist are 0x0000ffff"});
    check_fault([] { fa::launch<masked_kernel>({{1}, {32}}); },
                {"__shfl_down_sync reads lane 8, which does not take part", "thread (4, 0, 0)"});
  });
}
