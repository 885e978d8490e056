// fa::hbm on the emulator: every access lies in a buffer that lives, or is reported.

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "simt_support.h"

namespace {

using fa::simt::check_fault;
using fa::simt::counting_up;

static_assert(std::is_convertible_v<fa::hbm<float>, fa::hbm<const float>>);
static_assert(!std::is_convertible_v<fa::hbm<const float>, fa::hbm<float>>);
static_assert(!std::is_copy_constructible_v<fa::DeviceBuffer<float>>);

// `auto x = p[i]` is not a value, as it would be on a GPU: so nothing can be done with such an x. It cannot be passed
// to printf either.
using HbmElement = fa::hbm<float>::Element;
using TileElement = fa::SharedElement<float>;
static_assert(std::is_convertible_v<HbmElement, float> && std::is_convertible_v<TileElement, float>);
static_assert(!std::is_convertible_v<HbmElement&, float> && !std::is_convertible_v<TileElement&, float>);
static_assert(std::is_assignable_v<HbmElement, float> && std::is_assignable_v<TileElement, float>);
static_assert(!std::is_assignable_v<HbmElement&, float> && !std::is_assignable_v<TileElement&, float>);
static_assert(!std::is_trivially_copyable_v<HbmElement> && !std::is_trivially_copyable_v<TileElement>);

__device__ int global_index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void copy_kernel(fa::hbm<const float> in, fa::hbm<float> out, int read_shift, int write_shift) {
  out[global_index() + write_shift] = in[global_index() + read_shift];
}

__global__ void add_kernel(fa::hbm<int> out, int shift) { atomicAdd(&out[global_index() + shift], 1); }

// 2 blocks of 32 threads over 64 elements.
void copy(int read_shift, int write_shift) {
  const fa::DeviceBuffer<float> in("in", counting_up(64));
  fa::DeviceBuffer<float> out("out", 64);
  fa::launch<copy_kernel>({{2}, {32}}, in.data(), out.data(), read_shift, write_shift);
  CHECK(out.to_host() == counting_up(64));
}

}  // namespace

TEST_CASE("each element of a buffer may be read and written") { copy(0, 0); }

TEST_CASE("a read past the end names kernel, block, thread, buffer, index and size") {
  check_fault([] { copy(1, 0); },
              {"HBM: read of in[64], which has 64 elements", "in copy_kernel, block (1, 0, 0), thread (31, 0, 0)"});
}

TEST_CASE("a read before the beginning is out of bounds, too") {
  check_fault([] { copy(-2, 0); }, {"HBM: read of in[-2], which has 64 elements", "block (0, 0, 0), thread (0, 0, 0)"});
}

TEST_CASE("a write out of bounds is told from a read") {
  check_fault([] { copy(0, 64); }, {"HBM: write to out[64], which has 64 elements", "thread (0, 0, 0)"});
  check_fault([] { copy(0, -1); }, {"HBM: write to out[-1], which has 64 elements"});
}

TEST_CASE("an atomic operation out of bounds is reported") {
  fa::DeviceBuffer<int> out("out", counting_up<int>(4));
  check_fault([&] { fa::launch<add_kernel>({{1}, {2}}, out.data(), 3); },
              {"HBM: atomic operation on out[4], which has 4 elements", "add_kernel", "thread (1, 0, 0)"});
  CHECK(out.to_host() == std::vector<int>{0, 1, 2, 4});
}

TEST_CASE("a write out of bounds touches nothing") {
  const fa::DeviceBuffer<float> in("in", counting_up(1));
  fa::DeviceBuffer<float> out("out", std::vector<float>{7, 8});
  check_fault([&] { fa::launch<copy_kernel>({{1}, {1}}, in.data(), out.data(), 0, 2); }, {"out[2]"});
  CHECK(out.to_host() == std::vector<float>{7, 8});
}

TEST_CASE("bounds are checked when all other checks are off") {
  const fa::simt::With settings({.checks = false});
  check_fault([] { copy(1, 0); }, {"HBM: read of in[64]"});
  copy(0, 0);
}

TEST_CASE("an index in a message counts from the start of the buffer, not from the pointer") {
  const fa::DeviceBuffer<float> in("in", counting_up(64));
  fa::DeviceBuffer<float> out("out", 64);
  check_fault([&] { fa::launch<copy_kernel>({{1}, {1}}, in.data() + 60, out.data(), 4, 0); }, {"read of in[64]"});
  check_fault([&] { fa::launch<copy_kernel>({{1}, {1}}, in.data() + 60 - 70, out.data(), 9, 0); }, {"read of in[-1]"});
}

TEST_CASE("a buffer of 0 elements has no element 0, one of 1 no element 1") {
  const fa::DeviceBuffer<float> in("in", 0);
  fa::DeviceBuffer<float> out("out", 1);
  check_fault([&] { fa::launch<copy_kernel>({{1}, {1}}, in.data(), out.data(), 0, 0); },
              {"HBM: read of in[0], which has 0 elements"});
  check_fault([&] { fa::launch<copy_kernel>({{1}, {1}}, out.data(), out.data(), 1, 0); },
              {"HBM: read of out[1], which has 1 element\n"});
}

// ---- Pointers

namespace {

__global__ void pointer_kernel(fa::hbm<float> p) {
  fa::hbm<float> moved = p + 3;
  moved += 2;
  moved -= 1;
  *moved = 1.0f;          // p[4]
  (moved - 4)[1] = 2.0f;  // p[1]
  p[0] = p[1] = 3.0f;     // the value goes on
  p[2] = p[4];            // a copy of the value, not of the place
  p[3] = 8.0f;
  p[3] += 2.0f;
  p[3] -= 4.0f;
  p[3] *= 3.0f;
  p[3] /= 2.0f;
}

__global__ void null_kernel(fa::hbm<float> p, fa::hbm<const float> in, bool use) {
  if (threadIdx.x != 0) return;
  p[0] = p == nullptr ? -1.0f : 1.0f;
  p[1] = in == nullptr ? -1.0f : 1.0f;
  p[2] = p == p + 1 - 1 && p != p + 1 && !in ? 1.0f : -1.0f;
  if (use) p[3] = in[5];
}

}  // namespace

TEST_CASE("a pointer into HBM moves, reads and writes as a pointer does") {
  fa::DeviceBuffer<float> p("p", 5);
  fa::launch<pointer_kernel>({{1}, {1}}, p.data());
  CHECK(p.to_host() == std::vector<float>{3, 3, 1, 9, 1});
}

TEST_CASE("a pointer that may write can be passed where one that reads is asked for, and points to the same") {
  fa::DeviceBuffer<float> in("in", counting_up(5)), out("out", 1);
  fa::launch<copy_kernel>({{1}, {1}}, in.data() + 3, out.data(), 0, 0);
  CHECK(out.to_host() == std::vector<float>{3});
}

TEST_CASE("a null pointer can be passed and recognized, but not used") {
  fa::DeviceBuffer<float> p("p", std::vector<float>(4));
  fa::launch<null_kernel>({{1}, {32}}, p.data(), nullptr, false);
  CHECK(p.to_host() == std::vector<float>{1, -1, 1, 0});
  check_fault([&] { fa::launch<null_kernel>({{1}, {32}}, p.data(), fa::hbm<const float>(), true); },
              {"HBM: read of element 5 of a null pointer", "null_kernel"});
}

TEST_CASE("the host is told that it must copy") {
  fa::DeviceBuffer<float> p("p", counting_up(4));
  check_fault([&] { p.data()[1] = 2.0f; }, {"HBM: write to p[1] outside of a kernel", "from_host()"});
  check_fault([&] { return float(p.data()[9]); }, {"HBM: read of p[9], which has 4 elements", "outside of a kernel"});
  check_fault([&] { return fa::hbm<const float>()[2]; }, {"null pointer", "outside of a kernel"});
  check_fault([&] { atomicAdd(&p.data()[3], 2.0f); }, {"HBM: atomic operation on p[3] outside of a kernel"});
  CHECK(p.to_host() == counting_up(4));
}

// ---- After the end of a buffer's life

TEST_CASE("a pointer to a buffer that was freed is reported by the buffer's name") {
  std::optional<fa::DeviceBuffer<float>> in;
  in.emplace("in", counting_up(32));
  const fa::hbm<const float> stale = std::as_const(*in).data();
  const fa::hbm<float> stale_and_not_const = in->data();
  in.reset();
  fa::DeviceBuffer<float> out("out", 32);
  check_fault([&] { fa::launch<copy_kernel>({{1}, {32}}, stale_and_not_const, out.data(), 7, 0); },
              {"HBM: read of in[7], whose memory was freed"});
  check_fault([&] { fa::launch<copy_kernel>({{1}, {32}}, stale, out.data(), 7, 0); },
              {"HBM: read of in[7], whose memory was freed", "copy_kernel, block (0, 0, 0), thread (0, 0, 0)"});
  check_fault([&] { return stale[2]; }, {"whose memory was freed", "outside of a kernel"});
}

TEST_CASE("a pointer to a freed buffer stays stale when its place is taken again") {
  std::optional<fa::DeviceBuffer<float>> in;
  in.emplace("in", counting_up(32));
  const fa::hbm<const float> stale = std::as_const(*in).data();
  in.reset();
  for (int round = 0; round < 3000; ++round) fa::DeviceBuffer<float>("other", counting_up(32));
  fa::DeviceBuffer<float> out("out", 32), other("other", counting_up(32));
  check_fault([&] { fa::launch<copy_kernel>({{1}, {32}}, stale, out.data(), 0, 0); }, {"whose memory was freed"});
}

TEST_CASE("of a buffer that was freed, only its name is kept") {
  float value = 0.0f;
  fa::simt::HbmBuffer* const buffer = fa::simt::attach("in", &value, 1, sizeof value, true);
  CHECK(buffer->shadows.size() == 1);
  fa::simt::detach(buffer);
  CHECK(buffer->shadows.capacity() == 0);
  CHECK(buffer->name == "in");
}

TEST_CASE("a buffer that moves keeps its memory, and pointers to it stay valid") {
  fa::DeviceBuffer<float> in("in", counting_up(32)), out("out", 32);
  const fa::hbm<const float> pointer = in.data();
  const fa::DeviceBuffer<float> moved = std::move(in);
  fa::launch<copy_kernel>({{1}, {32}}, pointer, out.data(), 0, 0);
  CHECK(out.to_host() == moved.to_host());
}

TEST_CASE("assigning to a buffer frees what it held") {
  fa::DeviceBuffer<float> in("in", counting_up(32)), out("out", 32);
  const fa::hbm<const float> stale = in.data();
  in = fa::DeviceBuffer<float>("in", counting_up(32));
  check_fault([&] { fa::launch<copy_kernel>({{1}, {32}}, stale, out.data(), 0, 0); }, {"whose memory was freed"});
  fa::launch<copy_kernel>({{1}, {32}}, in.data(), out.data(), 0, 0);
}
