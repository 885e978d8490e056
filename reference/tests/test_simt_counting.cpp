// What the emulator counts: bytes through HBM, by buffer and by launch, and 32-byte sectors by warp.

#include <numeric>

#include "simt_support.h"

namespace {

using fa::Index;
using fa::Traffic;
using fa::simt::counting_up;
using fa::simt::in_each_order;

// Each thread reads one element, `stride` from that of its neighbor, and writes one beside that of its neighbor.
template <class T>
__global__ void stride_kernel(fa::hbm<const T> in, fa::hbm<T> out, int first, int stride) {
  const int me = int(blockIdx.x * blockDim.x + threadIdx.x);
  out[me] = in[first + me * stride];
}

// Sectors that a launch of `threads` threads reads.
template <class T>
Index sectors(int threads, int first, int stride) {
  const fa::DeviceBuffer<T> in("in", counting_up<T>(first + threads * stride + 1));
  fa::DeviceBuffer<T> out("out", threads);
  const fa::DeviceMeter meter;
  fa::launch<stride_kernel<T>>({{1}, {threads}}, in.data(), out.data(), first, stride);
  CHECK(meter.total() == Traffic{threads * Index{sizeof(T)}, threads * Index{sizeof(T)}});
  CHECK(meter.written_sectors() == (threads * Index{sizeof(T)} + 31) / 32);
  return meter.read_sectors();
}

}  // namespace

TEST_CASE("a warp that reads a row asks for as few sectors as possible, whatever the order of threads") {
  in_each_order([] {
    CHECK(sectors<float>(32, 0, 1) == 4);
    CHECK(sectors<double>(32, 0, 1) == 8);
    CHECK(sectors<short>(32, 0, 1) == 2);
    CHECK(sectors<char>(32, 0, 1) == 1);
    CHECK(sectors<float>(96, 0, 1) == 12);
    CHECK(sectors<float>(5, 0, 1) == 1);
    CHECK(sectors<float>(9, 0, 1) == 2);
    CHECK(sectors<float>(33, 0, 1) == 4 + 1);
  });
}

TEST_CASE("a row that does not begin at a sector costs one more") {
  CHECK(sectors<float>(32, 8, 1) == 4);
  CHECK(sectors<float>(32, 1, 1) == 5);
  CHECK(sectors<float>(64, 7, 1) == 5 + 5);
}

TEST_CASE("elements far apart cost a sector each, and one element for all costs one") {
  in_each_order([] {
    CHECK(sectors<float>(32, 0, 2) == 8);
    CHECK(sectors<float>(32, 0, 8) == 32);
    CHECK(sectors<float>(32, 0, 100) == 32);
    CHECK(sectors<float>(32, 5, 0) == 1);
    CHECK(sectors<float>(64, 5, 0) == 2);
  });
}

// ---- Instruction by instruction

namespace {

// Two columns of a row-major matrix (32, 8), one after the other: with the rows 32 bytes long, 32 sectors each time.
__global__ void columns_kernel(fa::hbm<const float> in, fa::hbm<float> out, bool barrier) {
  const int row = int(threadIdx.x);
  float sum = in[row * 8];
  if (barrier) __syncthreads();
  sum += in[row * 8 + 1];
  out[row] = sum;
}

enum Between { nothing, barrier, warp_barrier, other_access, next_block };

// Thread 0 writes one element more than the others; then all write a row.
__global__ void uneven_kernel(fa::hbm<float> out, fa::hbm<const float> in, int between) {
  const int me = int(threadIdx.x);
  float value = 1.0f;
  if (between != next_block || blockIdx.x == 0) {
    if (me == 0 && between != other_access) out[64] = value;
    if (me == 0 && between == other_access) value = out[64];
  }
  if (between == barrier) __syncthreads();
  if (between == warp_barrier) __syncwarp();
  if (between == other_access) value += in[me];
  if (between != next_block || blockIdx.x == 1) out[me] = value;
}

// Sectors of `out` that are written.
Index sectors_of_uneven(Between between) {
  const fa::DeviceBuffer<float> in("in", counting_up(32));
  fa::DeviceBuffer<float> out("out", counting_up(65));
  const fa::simt::With settings(fa::simt::with_workers(1));
  const fa::DeviceMeter meter;
  fa::launch<uneven_kernel>({{between == next_block ? 2 : 1}, {32}}, out.data(), in.data(), int(between));
  return meter.written_sectors();
}

}  // namespace

TEST_CASE("each load is counted by itself: what one brought, the next one asks for again") {
  for (const bool barrier : {false, true}) {
    const fa::DeviceBuffer<float> in("in", counting_up(32 * 8));
    fa::DeviceBuffer<float> out("out", 32);
    const fa::DeviceMeter meter;
    fa::launch<columns_kernel>({{1}, {32}}, in.data(), out.data(), barrier);
    CHECK(meter.read_sectors() == 64);
    CHECK(meter.written_sectors() == 4);
  }
}

TEST_CASE("a barrier sets the lanes even after some made more accesses than others") {
  CHECK(sectors_of_uneven(barrier) == 1 + 4);
  CHECK(sectors_of_uneven(warp_barrier) == 1 + 4);
  CHECK(sectors_of_uneven(next_block) == 1 + 4);
  CHECK(sectors_of_uneven(other_access) == 4);  // reads and writes are matched apart, and buffer by buffer
  CHECK(sectors_of_uneven(nothing) == 6);  // inexact, as counting.h says: thread 0 is one write ahead of the others
}

// ---- By buffer, by launch

namespace {

__global__ void three_kernel(fa::hbm<const float> a, fa::hbm<float> b, fa::hbm<float> c) {
  const int me = int(blockIdx.x * blockDim.x + threadIdx.x);
  c[me] = a[me] * a[me] + b[me];
  b[me] = 0.0f;
}

__global__ void idle_kernel() {}

}  // namespace

TEST_CASE("traffic is told by buffer, by launch and in total") {
  const fa::DeviceBuffer<float> a("a", counting_up(128));
  fa::DeviceBuffer<float> b("b", counting_up(128)), c("c", 128);
  const fa::DeviceMeter meter;
  fa::launch<three_kernel>({{2}, {64}}, a.data(), b.data(), c.data());
  fa::launch<idle_kernel>({{1}, {1}});
  fa::launch<three_kernel>({{1}, {32}}, a.data(), b.data(), c.data());

  CHECK(meter.of("a") == Traffic{160 * 8, 0});
  CHECK(meter.of("b") == Traffic{160 * 4, 160 * 4});
  CHECK(meter.of("c") == Traffic{0, 160 * 4});
  CHECK(meter.of("d") == Traffic{});
  CHECK(meter.total() == Traffic{160 * 12, 160 * 8});
  CHECK(meter.read_sectors() == 160 * 12 / 32);
  CHECK(meter.written_sectors() == 160 * 8 / 32);

  const auto& launches = meter.launches();
  REQUIRE(launches.size() == 3);
  CHECK(launches[0].kernel == "three_kernel");
  CHECK(launches[0].traffic == Traffic{128 * 12, 128 * 8});
  CHECK(launches[0].read_sectors == 128 * 12 / 32);
  CHECK(launches[0].written_sectors == 128 * 8 / 32);
  CHECK(launches[1].kernel == "idle_kernel");
  CHECK(launches[1].traffic == Traffic{});
  CHECK(launches[2].traffic == Traffic{32 * 12, 32 * 8});

  Traffic sum;
  Index read_sectors = 0, written_sectors = 0;
  std::string names;
  for (const auto& row : meter.by_buffer()) {
    names += row.buffer;
    sum = sum + row.traffic;
    read_sectors += row.read_sectors;
    written_sectors += row.written_sectors;
  }
  CHECK(names == "abc");
  CHECK(sum == meter.total());
  CHECK(read_sectors == meter.read_sectors());
  CHECK(written_sectors == meter.written_sectors());
}

TEST_CASE("buffers of one name are counted together") {
  const fa::DeviceBuffer<float> in("in", counting_up(32));
  fa::DeviceBuffer<float> out("out", counting_up(32)), again("out", 32);
  const fa::DeviceMeter meter;
  fa::launch<three_kernel>({{1}, {32}}, in.data(), out.data(), again.data());
  CHECK(meter.of("out") == Traffic{128, 256});
  CHECK(meter.by_buffer().size() == 2);
}

TEST_CASE("a meter counts the launches of its own life; several may live at a time") {
  const fa::DeviceBuffer<float> in("in", counting_up(32));
  fa::DeviceBuffer<float> out("out", 32);
  const auto run = [&] { fa::launch<stride_kernel<float>>({{1}, {32}}, in.data(), out.data(), 0, 1); };
  run();
  const fa::DeviceMeter outer;
  CHECK(outer.total() == Traffic{});
  run();
  {
    const fa::DeviceMeter inner;
    run();
    CHECK(inner.total() == Traffic{128, 128});
  }
  run();
  CHECK(outer.total() == Traffic{3 * 128, 3 * 128});
}

TEST_CASE("bytes are counted without checks, too, and copies by the host are not") {
  const fa::simt::With settings({.checks = false});
  fa::DeviceBuffer<float> in("in", counting_up(32)), out("out", 32);
  const fa::DeviceMeter meter;
  fa::launch<stride_kernel<float>>({{1}, {32}}, in.data(), out.data(), 0, 1);
  in.from_host(out.to_host());
  CHECK(meter.total() == Traffic{128, 128});
  CHECK(meter.read_sectors() == 4);
}

TEST_CASE("counts are those of each launch also when buffers come and go") {
  for (int round = 0; round < 1500; ++round) {  // more than the emulator remembers
    const fa::DeviceBuffer<float> in("in " + std::to_string(round), counting_up(32));
    fa::DeviceBuffer<float> out("out", 32);
    const fa::DeviceMeter meter;
    fa::launch<stride_kernel<float>>({{1}, {32}}, in.data(), out.data(), 0, 1);
    CHECK(meter.of(in.name()) == Traffic{128, 0});
    CHECK(meter.read_sectors() == 4);
  }
}
