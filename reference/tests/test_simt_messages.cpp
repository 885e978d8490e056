// Each fault that the emulator reports, with its message to the letter: what simt/messages.md shows.

#include <optional>
#include <utility>

#include "simt_faulty_kernels.h"
#include "simt_faulty_tensor_kernels.h"
#include "simt_support.h"

namespace {

using fa::simt::counting_up;
using fa::simt::fault_of;

// Runs it with the settings that the page speaks of.
template <class Call>
void check_message(Call call, const char* expected) {
  const fa::simt::With settings(fa::simt::with_workers(1));
  CHECK('\n' + fault_of(call) == expected);
}

}  // namespace

TEST_CASE("message: an access out of bounds, or to memory that was freed") {
  std::optional<fa::DeviceBuffer<float>> in;
  in.emplace("in", counting_up(64));
  fa::DeviceBuffer<float> out("out", 64);
  const fa::hbm<const float> pointer = std::as_const(*in).data();
  check_message([&] { fa::launch<shift_kernel>({{2}, {32}}, pointer, out.data()); }, shift_fault);
  in.reset();
  check_message([&] { fa::launch<shift_kernel>({{2}, {32}}, pointer, out.data()); }, freed_fault);
}

TEST_CASE("message: an index outside of a shared array") {
  fa::DeviceBuffer<float> out("out", 8);
  check_message([&] { fa::launch<column_kernel>({{1}, {8}}, out.data()); }, column_fault);
}

TEST_CASE("message: a read of memory that nothing wrote") {
  fa::DeviceBuffer<float> sum("sum", 1), out("out", 32);
  check_message([&] { fa::launch<accumulate_kernel>({{1}, {32}}, sum.data()); }, accumulate_fault);
  check_message([&] { fa::launch<padding_kernel>({{1}, {32}}, out.data()); }, padding_fault);
}

TEST_CASE("message: a missing barrier") {
  fa::DeviceBuffer<float> row("row", counting_up(64));
  check_message([&] { fa::launch<rotate_kernel>({{1}, {64}}, row.data()); }, rotate_fault);
}

TEST_CASE("message: a missing barrier in a warp") {
  fa::DeviceBuffer<int> sum("sum", 1);
  check_message([&] { fa::launch<warp_sum_kernel>({{1}, {64}}, sum.data()); }, warp_sum_fault);
}

TEST_CASE("message: two blocks that touch one element") {
  fa::DeviceBuffer<float> out("out", 2);
  check_message([&] { fa::launch<last_wins_kernel>({{4}, {32}}, out.data()); }, last_wins_fault);
}

TEST_CASE("message: a barrier that not all threads reach") {
  fa::DeviceBuffer<float> out("out", 64);
  check_message([&] { fa::launch<ragged_kernel>({{1}, {64}}, out.data(), 50); }, ragged_fault);
  check_message([&] { fa::launch<two_barriers_kernel>({{1}, {64}}); }, two_barriers_fault);
  check_message([&] { fa::launch<pass_on_kernel>({{1}, {4}}, out.data(), 0); }, pass_on_fault);
}

TEST_CASE("message: a warp operation that not all lanes reach") {
  fa::DeviceBuffer<float> values("values", counting_up(32));
  check_message([&] { fa::launch<ragged_max_kernel>({{1}, {32}}, values.data(), 20); }, ragged_max_fault);
}

TEST_CASE("message: more dynamic shared memory than the launch asked for") {
  check_message([&] { fa::launch<tiles_kernel>({{1}, {32}, fa::shared_bytes<float>(32 * 64)}, 32); }, tiles_fault);
}

TEST_CASE("message: a thread that waits for another one in a loop") {
  fa::DeviceBuffer<int> flag("flag", std::vector<int>(1));
  check_message([&] { fa::launch<wait_kernel>({{1}, {2}}, flag.data()); }, wait_fault);
}

TEST_CASE("message: an asynchronous copy that has not arrived") {
  const fa::DeviceBuffer<float> k("k", counting_up(256));
  fa::DeviceBuffer<float> out("out", 32);
  CHECK_NOTHROW(fa::launch<next_tile_kernel>({{1}, {32}}, k.data(), out.data(), 1));
  check_message([&] { fa::launch<next_tile_kernel>({{1}, {32}}, k.data(), out.data(), 2); }, next_tile_fault);
}

TEST_CASE("message: a vector at an address that it may not have") {
  const fa::DeviceBuffer<float> q("q", counting_up(33 * 32));
  fa::DeviceBuffer<float> out("out", 32);
  check_message([&] { fa::launch<row_kernel>({{1}, {32}}, q.data(), out.data(), 33); }, row_fault);
}

TEST_CASE("message: lanes that name different matrices") {
  fa::DeviceBuffer<float> s("s", 1024);
  check_message([&] { fa::launch<store_kernel>({{1}, {32}}, s.data(), 1.0f); }, store_fault);
}

TEST_CASE("message: a fragment that nothing has set") {
  const std::vector<fa::half> ones(256, fa::half(1.0f));
  const fa::DeviceBuffer<fa::half> q("q", ones), k("k", ones);
  fa::DeviceBuffer<float> s("s", 256);
  check_message([&] { fa::launch<product_kernel>({{1}, {32}}, q.data(), k.data(), s.data()); }, product_fault);
}

TEST_CASE("message: too many accesses to count their bank conflicts") {
  fa::DeviceBuffer<float> out("out", 1);
  const fa::DeviceMeter meter(fa::Count::banks);
  check_message([&] { fa::launch<sum_kernel>({{1}, {1}}, out.data(), 1 << 20); }, sum_fault);
  CHECK_NOTHROW(fa::launch<sum_kernel>({{1}, {1}}, out.data(), (1 << 20) - 1));
}
