#include "simt/hbm.h"

#include <string>

#include "simt/fault.h"

namespace fa::simt {
namespace {

const char* verb(Access access) {
  return access == Access::read ? "read of " : access == Access::write ? "write to " : "atomic operation on ";
}

}  // namespace

std::string text_of_element(const HbmBuffer* buffer, Index at) {
  return (buffer == nullptr ? "null pointer" : buffer->name) + '[' + std::to_string(at) + ']';
}

void stop_at_hbm(const HbmBuffer* buffer, Index at, std::uint32_t generation, Access access, int elements) {
  if (buffer != nullptr && at >= 0 && at < buffer->elements && at + elements > buffer->elements) {
    at = buffer->elements;  // the first of them that is outside
  }
  std::string what = std::string("HBM: ") + verb(access);
  if (buffer == nullptr) {
    what += "element " + std::to_string(at) + " of a null pointer";
  } else if (generation != buffer->generation) {
    what += text_of_element(buffer, at) + ", whose memory was freed";
  } else if (at < 0 || at >= buffer->elements) {
    what += text_of_element(buffer, at) + ", which has " + std::to_string(buffer->elements) +
            (buffer->elements == 1 ? " element" : " elements");
  } else {
    what += text_of_element(buffer, at);
  }
  if (running != nullptr) stop(*running, what);
  throw KernelFault(what + " outside of a kernel: the host copies, with to_host() and from_host()");
}

void check_hbm(HbmBuffer& buffer, Index at, Access access) {
  if (buffer.shadows.empty()) return;
  const Thread& thread = *running;
  const Kernel& kernel = thread.block->kernel();
  Shadow& element = buffer.shadows[std::size_t(at)];
  if (!kernel.settings.checks) {
    if (access != Access::read) element.write_time = kHostTime;
    return;
  }
  if (access != Access::write && element.write_time == 0) {
    stop(thread, "HBM: read of " + text_of_element(&buffer, at) + ", which nothing wrote");
  }
  const Conflict conflict = note(element, thread, kernel.first_serial, access);
  if (conflict) {
    thread.block->stop_later(
        [&] { return race_message(thread, "HBM: " + text_of_element(&buffer, at), conflict, access); });
  }
}

}  // namespace fa::simt
