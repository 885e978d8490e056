// Correct code of many kinds runs on the emulator without a false alarm, in every order of threads, and gives what it
// should.

#include "simt_support.h"

namespace {

using fa::simt::counting_up;
using fa::simt::in_each_order;

constexpr unsigned kAll = 0xffff'ffff;

int sum_up_to(int count) { return count * (count - 1) / 2; }

// ---- Reductions

// Halves the number of threads that add, with a barrier between; the last warp does without, but for __syncwarp.
__global__ void tree_kernel(fa::hbm<const int> in, fa::hbm<int> out, bool finish_in_warp) {
  __shared__ fa::shared<int, 256> sums;
  const int me = int(threadIdx.x);
  sums[me] = in[me];
  __syncthreads();
  for (int half = 128; half > (finish_in_warp ? 32 : 0); half /= 2) {
    if (me < half) sums[me] += sums[me + half];
    __syncthreads();
  }
  if (finish_in_warp && me < 32) {
    for (int half = 32; half > 0; half /= 2) {
      int sum = sums[me];
      if (me < half) sum += sums[me + half];
      __syncwarp();
      sums[me] = sum;
      __syncwarp();
    }
  }
  if (me == 0) out[0] = sums[0];
}

// Shuffles within each warp, then shared memory between them. The last warp may be ragged.
__global__ void shuffle_kernel(fa::hbm<const int> in, fa::hbm<int> out, int count) {
  __shared__ fa::shared<int, 32> of_warp;
  const int me = int(threadIdx.x), lane = me % 32, warp = me / 32;
  const unsigned mask = __ballot_sync(kAll, me < count);
  if (me >= count) return;
  int sum = in[me];
  for (int distance = 16; distance > 0; distance /= 2) {
    const bool has_other = lane + distance < 32 && me + distance < count;
    const int other = __shfl_down_sync(mask, sum, has_other ? unsigned(distance) : 0u);
    if (has_other) sum += other;
  }
  if (lane == 0) of_warp[warp] = sum;
  if (lane == 0) atomicAdd(&out[0], of_warp[warp]);
}

}  // namespace

TEST_CASE("correct: a tree of sums with barriers, and with warp barriers at the end") {
  in_each_order([] {
    const fa::DeviceBuffer<int> in("in", counting_up<int>(256));
    fa::DeviceBuffer<int> out("out", 1);
    for (const bool finish_in_warp : {false, true}) {
      fa::launch<tree_kernel>({{1}, {256}}, in.data(), out.data(), finish_in_warp);
      CHECK(out.to_host()[0] == sum_up_to(256));
    }
  });
}

TEST_CASE("correct: sums by shuffles, with a ragged last warp and lanes that left") {
  in_each_order([] {
    for (const int threads : {32, 40, 64, 97}) {
      for (const int count : {threads, threads - 5}) {
        const fa::DeviceBuffer<int> in("in", counting_up<int>(count));
        fa::DeviceBuffer<int> out("out", std::vector<int>(1));
        fa::launch<shuffle_kernel>({{1}, {threads}}, in.data(), out.data(), count);
        CHECK(out.to_host()[0] == sum_up_to(count));
      }
    }
  });
}

// ---- Tiles

namespace {

__global__ void transpose_kernel(fa::hbm<const float> in, fa::hbm<float> out, int N) {
  __shared__ fa::shared<float, 32, 33> tile;
  const int i0 = int(blockIdx.y) * 32, j0 = int(blockIdx.x) * 32, j = int(threadIdx.x);
  for (int i = int(threadIdx.y); i < 32; i += 8) {
    if (i0 + i < N && j0 + j < N) tile[i][j] = in[(i0 + i) * N + j0 + j];
  }
  __syncthreads();
  for (int i = int(threadIdx.y); i < 32; i += 8) {
    if (j0 + i < N && i0 + j < N) out[(j0 + i) * N + i0 + j] = tile[j][i];
  }
}

// Loads tile t + 1 while tile t is in use: one barrier a tile suffices with two buffers.
__global__ void double_buffer_kernel(fa::hbm<const int> in, fa::hbm<int> out, int tiles) {
  __shared__ fa::shared<int, 2, 64> buffer;
  const int me = int(threadIdx.x);
  int sum = 0;
  buffer[0][me] = in[me];
  for (int t = 0; t < tiles; ++t) {
    __syncthreads();
    if (t + 1 < tiles) buffer[(t + 1) % 2][me] = in[(t + 1) * 64 + me];
    for (int e = 0; e < 64; ++e) sum += buffer[t % 2][e];
  }
  out[me] = sum;
}

}  // namespace

TEST_CASE("correct: a transpose through shared memory") {
  constexpr int N = 70;
  in_each_order([] {
    const fa::DeviceBuffer<float> in("in", counting_up(N * N));
    fa::DeviceBuffer<float> out("out", N * N);
    fa::launch<transpose_kernel>({{3, 3}, {32, 8}}, in.data(), out.data(), N);
    const std::vector<float> result = out.to_host();
    for (std::size_t at = 0; at < N * N; ++at) CHECK(result[at] == float(at % N * N + at / N));
  });
}

TEST_CASE("correct: double buffering") {
  in_each_order([] {
    const fa::DeviceBuffer<int> in("in", counting_up<int>(64 * 7));
    fa::DeviceBuffer<int> out("out", 64);
    fa::launch<double_buffer_kernel>({{1}, {64}}, in.data(), out.data(), 7);
    CHECK(out.to_host() == std::vector<int>(64, sum_up_to(64 * 7)));
  });
}

// ---- Warps that go their own ways between two barriers

namespace {

// Each warp passes a value along its lanes, as often as its number says.
__global__ void warps_kernel(fa::hbm<int> out) {
  __shared__ fa::shared<int, 128> line;
  const int me = int(threadIdx.x), lane = me % 32, warp = me / 32, next = warp * 32 + (lane + 1) % 32;
  line[me] = lane;
  for (int round = 0; round < warp; ++round) {
    __syncwarp();
    const int value = line[next];
    __syncwarp();
    line[me] = value;
  }
  __syncthreads();
  out[me] = line[127 - me];
}

// The halves of a warp work on halves of a row, each with barriers of its own; then they swap.
__global__ void half_warps_kernel(fa::hbm<int> out) {
  __shared__ fa::shared<int, 32> line;
  const int me = int(threadIdx.x), half = me / 16;
  const unsigned mask = half == 0 ? 0x0000'ffffu : 0xffff'0000u;
  line[me] = 0;
  for (int round = 0; round <= 2 * half; ++round) {
    __syncwarp(mask);
    const int value = line[half * 16 + (me + 1) % 16] + 1;
    __syncwarp(mask);
    line[me] = value;
  }
  __syncwarp();
  out[me] = line[31 - me];
}

__global__ void broadcast_kernel(fa::hbm<const int> in, fa::hbm<int> out) {
  __shared__ fa::shared<int, 4> few;
  if (threadIdx.x < 4) few[int(threadIdx.x)] = in[int(threadIdx.x)];
  __syncthreads();
  int sum = in[3];
  for (int e = 0; e < 4; ++e) sum += few[e] * in[e];
  out[int(blockIdx.x * blockDim.x + threadIdx.x)] = sum;
}

}  // namespace

TEST_CASE("correct: warps that pass different numbers of warp barriers") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", 128);
    fa::launch<warps_kernel>({{1}, {128}}, out.data());
    for (int me = 0; me < 128; ++me) {
      const int from = 127 - me;
      CHECK(out.to_host()[std::size_t(me)] == (from % 32 + from / 32) % 32);
    }
  });
}

TEST_CASE("correct: halves of a warp with masks of their own, then the whole warp") {
  in_each_order([] {
    fa::DeviceBuffer<int> out("out", 32);
    fa::launch<half_warps_kernel>({{1}, {32}}, out.data());
    for (int me = 0; me < 32; ++me) CHECK(out.to_host()[std::size_t(me)] == (me < 16 ? 3 : 1));
  });
}

TEST_CASE("correct: all threads of all blocks read the same elements") {
  in_each_order([] {
    const fa::DeviceBuffer<int> in("in", counting_up<int>(4));
    fa::DeviceBuffer<int> out("out", 8 * 100);
    fa::launch<broadcast_kernel>({{8}, {100}}, in.data(), out.data());
    CHECK(out.to_host() == std::vector<int>(800, 3 + 14));
  });
}

// ---- HBM

namespace {

__global__ void histogram_kernel(fa::hbm<const int> in, fa::hbm<int> bins, int count) {
  __shared__ fa::shared<int, 10> own;
  const int me = int(threadIdx.x);
  if (me < 10) own[me] = 0;
  __syncthreads();
  for (int e = int(blockIdx.x * blockDim.x) + me; e < count; e += int(gridDim.x * blockDim.x)) {
    atomicAdd(&own[in[e] % 10], 1);
  }
  __syncthreads();
  if (me < 10) atomicAdd(&bins[me], own[me]);
}

// A block hands a row of HBM from thread to thread: its own barriers order that.
__global__ void shift_in_place_kernel(fa::hbm<int> row, int rounds) {
  row = row + int(blockIdx.x) * 50;
  const int me = int(threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    const int value = row[(me + 1) % 50];
    __syncthreads();
    row[me] = value;
    __syncthreads();
  }
}

__global__ void early_exit_kernel(fa::hbm<const float> in, fa::hbm<float> out, int count) {
  const int e = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (e >= count) return;
  out[e] = 2.0f * in[e];
}

}  // namespace

TEST_CASE("correct: a histogram with atomic operations in shared memory and HBM") {
  in_each_order([] {
    const fa::DeviceBuffer<int> in("in", counting_up<int>(1234));
    fa::DeviceBuffer<int> bins("bins", std::vector<int>(10));
    fa::launch<histogram_kernel>({{5}, {64}}, in.data(), bins.data(), 1234);
    CHECK(bins.to_host() == std::vector<int>{124, 124, 124, 124, 123, 123, 123, 123, 123, 123});
  });
}

TEST_CASE("correct: threads of a block that pass elements of HBM on, launch after launch") {
  in_each_order([] {
    fa::DeviceBuffer<int> rows("rows", counting_up<int>(200));
    for (int launch = 0; launch < 3; ++launch) fa::launch<shift_in_place_kernel>({{4}, {50}}, rows.data(), 5);
    const std::vector<int> result = rows.to_host();
    for (int e = 0; e < 200; ++e) CHECK(result[std::size_t(e)] == e / 50 * 50 + (e + 15) % 50);
  });
}

TEST_CASE("correct: threads past the end of the data leave at once") {
  in_each_order([] {
    for (const int count : {1, 31, 32, 33, 127, 128, 129, 1000}) {
      const fa::DeviceBuffer<float> in("in", counting_up(count));
      fa::DeviceBuffer<float> out("out", count);
      fa::launch<early_exit_kernel>({{(count + 127) / 128}, {128}}, in.data(), out.data(), count);
      for (int e = 0; e < count; ++e) CHECK(out.to_host()[std::size_t(e)] == 2.0f * float(e));
    }
  });
}
