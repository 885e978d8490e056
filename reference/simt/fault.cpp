#include "simt/fault.h"

#include "simt/block.h"

namespace fa::simt {
namespace {

const char* past(Access access) {
  return access == Access::read ? " read it" : access == Access::write ? " wrote it" : " updated it atomically";
}
const char* present(Access access) {
  return access == Access::read ? " reads it" : access == Access::write ? " writes it" : " updates it atomically";
}

std::string text_of_state(const Thread& thread, bool with_column) {
  const std::string name = "  " + text_of_thread(thread);
  const std::string place =
      to_string(thread.site) + (with_column ? ", column " + std::to_string(thread.site.column) : "");
  switch (thread.state) {
    case ThreadState::returned:
      return name + " has come to the end of the kernel\n";
    case ThreadState::at_barrier:
      return name + " waits at the barrier at " + place + '\n';
    case ThreadState::at_warp:
      return name + " waits at " + text_of_operation(thread) + " at " + place + ", with the mask " +
             text_of_mask(thread) + '\n';
    case ThreadState::ready:
      break;
  }
  return name + " runs\n";
}

}  // namespace

std::string text(const uint3& index) {
  return '(' + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ')';
}

std::string text_of_thread(const Thread& thread) { return "thread " + text(thread.idx); }

std::string text_of_states(const Thread& a, const Thread& b) {
  const bool with_column = same_line(a.site, b.site) && a.site.column != b.site.column;
  return text_of_state(a, with_column) + text_of_state(b, with_column);
}

std::string fault_message(const Thread& thread, const std::string& what, const std::string& more) {
  const Block& block = *thread.block;
  std::string message =
      what + "\n  in " + block.kernel().name + ", block " + text(block.index()) + ", " + text_of_thread(thread) + '\n';
  if (thread.works) message += "  in " + text_of_operation(thread) + " at " + to_string(thread.site) + '\n';
  message += more;
  message.pop_back();  // the last line's end
  return message;
}

std::string race_message(const Thread& thread, const std::string& element, const Conflict& conflict, Access access) {
  const Block& block = *thread.block;
  const std::string other = "thread " + text(block.thread_index(conflict.thread));
  if (conflict.block_serial != block_serial_of(thread.now)) {
    const uint3 other_block = block.kernel().block_index(Index{conflict.block_serial} - block.kernel().first_serial);
    return fault_message(thread, element + " is touched by two blocks, which run in no order",
                         "  block " + text(other_block) + ", " + other + past(conflict.kind) + ",\n  block " +
                             text(block.index()) + ", " + text_of_thread(thread) + present(access) +
                             " in the same launch\n");
  }
  const Place& barrier = block.last_barrier();
  const std::string since = barrier.line == 0 ? "the start of the kernel" : "the barrier at " + to_string(barrier);
  const std::string how = conflict.by_copy ? ", by an asynchronous copy that came when it waited for it" : "";
  const bool knows_syncwarp = thread.seen[thread.lane] > 1;
  const bool one_warp = knows_syncwarp && conflict.thread / kWarp == thread.index / kWarp;
  return fault_message(thread, element + " is touched by two threads with no barrier between",
                       "  " + other + past(conflict.kind) + how + ",\n  " + text_of_thread(thread) + present(access) +
                           ",\n  both after " + since +
                           (barrier.line == 0 ? "\n" : " (in a loop, one may be a round ahead)\n") +
                           (one_warp ? "  and with no __syncwarp() of their warp between\n" : ""));
}

void stop(const Thread& thread, const std::string& what, const std::string& more) {
  throw KernelFault(fault_message(thread, what, more));
}

}  // namespace fa::simt
