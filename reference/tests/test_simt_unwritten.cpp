// The emulator reports a read of memory that nothing wrote: HBM and shared memory.

#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::counting_up;
using fa::simt::in_each_order;

__global__ void copy_kernel(fa::hbm<const float> in, fa::hbm<float> out) {
  const int at = int(blockIdx.x * blockDim.x + threadIdx.x);
  out[at] = in[at];
}

__global__ void add_kernel(fa::hbm<int> out) { atomicAdd(&out[int(threadIdx.x)], 1); }

__global__ void update_kernel(fa::hbm<float> out) { out[int(threadIdx.x)] += 1.0f; }

}  // namespace

TEST_CASE("a read of HBM that nothing wrote names buffer and index") {
  const fa::DeviceBuffer<float> in("in", 64);
  fa::DeviceBuffer<float> out("out", 64);
  check_fault([&] { fa::launch<copy_kernel>({{1}, {64}}, in.data(), out.data()); },
              {"HBM: read of in[0], which nothing wrote", "in copy_kernel, block (0, 0, 0), thread (0, 0, 0)"});
}

TEST_CASE("what the host wrote may be read, and nothing beside it") {
  fa::DeviceBuffer<float> in("in", 64), out("out", 64);
  in.from_host(counting_up(40), 0);
  in.from_host(counting_up(20), 44);
  check_fault([&] { fa::launch<copy_kernel>({{2}, {32}}, in.data(), out.data()); },
              {"HBM: read of in[40], which nothing wrote", "block (1, 0, 0), thread (8, 0, 0)"});
  in.from_host(counting_up(4), 40);
  fa::launch<copy_kernel>({{2}, {32}}, in.data(), out.data());
}

TEST_CASE("what an earlier launch wrote may be read") {
  const fa::DeviceBuffer<float> in("in", counting_up(64));
  fa::DeviceBuffer<float> between("between", 64), out("out", 64);
  fa::launch<copy_kernel>({{2}, {32}}, in.data(), between.data());
  fa::launch<copy_kernel>({{1}, {64}}, between.data(), out.data());
  CHECK(out.to_host() == counting_up(64));
}

TEST_CASE("an update of an element that nothing wrote is a read of it") {
  fa::DeviceBuffer<float> out("out", 4);
  check_fault([&] { fa::launch<update_kernel>({{1}, {1}}, out.data()); }, {"HBM: read of out[0], which nothing wrote"});
}

TEST_CASE("a sum that was never set to zero is reported, though its memory happens to be zero") {
  fa::DeviceBuffer<int> out("out", 4);
  check_fault([&] { fa::launch<add_kernel>({{1}, {4}}, out.data()); },
              {"HBM: read of out[0], which nothing wrote", "in add_kernel"});
}

TEST_CASE("without checks nothing is reported, but what is written then counts as written later") {
  const fa::DeviceBuffer<float> in("in", counting_up(64));
  fa::DeviceBuffer<float> between("between", 64), out("out", 64);
  fa::DeviceBuffer<int> sums("sums", 4);
  {
    const fa::simt::With settings({.checks = false});
    fa::launch<copy_kernel>({{1}, {64}}, out.data(), between.data());
    fa::launch<copy_kernel>({{1}, {64}}, in.data(), between.data());
    fa::launch<add_kernel>({{1}, {4}}, sums.data());
  }
  fa::launch<copy_kernel>({{1}, {64}}, between.data(), out.data());
  CHECK(out.to_host() == counting_up(64));
  fa::launch<add_kernel>({{1}, {4}}, sums.data());
  CHECK(sums.to_host() == std::vector<int>(4, 2));
}

TEST_CASE("a buffer that was made without checks is not checked later") {
  fa::simt::Settings off;
  off.checks = false;
  auto made = [&] {
    const fa::simt::With settings(off);
    return fa::DeviceBuffer<float>("in", 64);
  }();
  fa::DeviceBuffer<float> out("out", 64);
  fa::launch<copy_kernel>({{1}, {64}}, made.data(), out.data());
}

// ---- Shared memory. Each block starts with none of it written, whatever the block before left there.

namespace {

// Thread 0 of block `writer` writes all of it; then each thread of each block reads one element.
__global__ void static_kernel(fa::hbm<float> out, int writer) {
  __shared__ fa::shared<float, 4, 8> tile;
  if (int(blockIdx.x) == writer && threadIdx.x == 0) {
    for (int e = 0; e < 32; ++e) tile[e / 8][e % 8] = 1.0f;
  }
  __syncthreads();
  const int e = int(threadIdx.x);
  out[int(blockIdx.x) * 32 + e] = tile[e / 8][e % 8];
}

__global__ void dynamic_kernel(fa::hbm<float> out, int writer) {
  fa::DynamicShared memory;
  const auto tile = memory.matrix<float>("tile", 4, 8);
  if (int(blockIdx.x) == writer && threadIdx.x == 0) {
    for (int e = 0; e < 32; ++e) tile[e / 8][e % 8] = 1.0f;
  }
  __syncthreads();
  const int e = int(threadIdx.x);
  out[int(blockIdx.x) * 32 + e] = tile[e / 8][e % 8];
}

__global__ void shared_sum_kernel(bool cleared) {
  __shared__ fa::shared<int, 1> sum;
  if (cleared && threadIdx.x == 0) sum[0] = 0;
  __syncthreads();
  atomicAdd(&sum[0], 1);
}

__global__ void shared_update_kernel() {
  __shared__ fa::shared<float, 2> line;
  line[0] = 1.0f;
  line[0] *= 2.0f;
  line[1] *= 2.0f;
}

// Thread 0 reads what `writer` writes later, before the next barrier or after it.
__global__ void later_kernel(int writer, bool after_barrier) {
  __shared__ fa::shared<float, 2> line;
  const int i = int(threadIdx.x);
  if (i == 0) line[0] = line[1];
  if (i == writer && !after_barrier) line[1] = 1.0f;
  __syncthreads();
  if (i == writer && after_barrier) line[1] = 1.0f;
}

void run_static(int blocks, int writer) {
  fa::DeviceBuffer<float> out("out", blocks * 32);
  fa::launch<static_kernel>({{blocks}, {32}}, out.data(), writer);
}
void run_dynamic(int blocks, int writer) {
  fa::DeviceBuffer<float> out("out", blocks * 32);
  fa::launch<dynamic_kernel>({{blocks}, {32}, 128}, out.data(), writer);
}

}  // namespace

TEST_CASE("a read of shared memory that nothing wrote names array and indices") {
  check_fault([] { run_static(1, -1); },
              {"shared memory: read of tile[0][0], which nothing wrote\n", "in static_kernel, block (0, 0, 0)"});
  check_fault([] { run_dynamic(1, -1); },
              {"shared memory: read of tile[0][0], which nothing wrote\n", "in dynamic_kernel, block (0, 0, 0)"});
  const fa::simt::With settings({.order = fa::simt::Order::backward});
  check_fault([] { run_static(1, -1); }, {"read of tile[3][7], which nothing wrote\n", "thread (31, 0, 0)"});
  check_fault([] { run_dynamic(1, -1); }, {"read of tile[3][7], which nothing wrote\n", "thread (31, 0, 0)"});
}

TEST_CASE("a block does not see what an earlier block, or launch, left in shared memory") {
  in_each_order([] {
    run_static(1, 0);
    run_dynamic(1, 0);
    check_fault([] { run_static(2, 0); }, {"which nothing wrote\n", "block (1, 0, 0)"});
    check_fault([] { run_dynamic(2, 0); }, {"which nothing wrote\n", "block (1, 0, 0)"});
    check_fault([] { run_static(1, -1); }, {"which nothing wrote\n"});
    check_fault([] { run_dynamic(1, -1); }, {"which nothing wrote\n"});
  });
}

TEST_CASE("it is told whether another thread writes the element later, so that a barrier is missing") {
  const auto run = [](int writer, bool after_barrier) {
    return [=] { fa::launch<later_kernel>({{1}, {2}}, writer, after_barrier); };
  };
  check_fault(run(1, false), {"read of line[1], which nothing wrote yet\n", "a barrier is missing"});
  check_fault(run(1, true), {"read of line[1], which nothing wrote\n", "and no other thread writes it"});
  check_fault(run(0, false), {"read of line[1], which nothing wrote\n"});
  check_fault(run(-1, false), {"read of line[1], which nothing wrote\n"});
}

TEST_CASE("a sum in shared memory that was never set to zero is reported") {
  fa::launch<shared_sum_kernel>({{1}, {40}}, true);
  check_fault([] { fa::launch<shared_sum_kernel>({{1}, {40}}, false); },
              {"shared memory: read of sum[0], which nothing wrote\n"});
}

TEST_CASE("an update in shared memory is a read first") {
  check_fault([] { fa::launch<shared_update_kernel>({{1}, {1}}); },
              {"shared memory: read of line[1], which nothing wrote\n"});
}
