#include "simt/async_copy.h"

#include <algorithm>
#include <string>

#include "simt/block.h"
#include "simt/fault.h"

namespace fa::simt {
namespace {

// Now the thread writes what it has read before.
void arrive(const Thread::Copy& copy) {
  SharedStorage& storage = *copy.storage;
  const Index element_bytes = storage.layout.element_bytes;
  std::memcpy(storage.data + copy.at * element_bytes, copy.values.data(), std::size_t(copy.elements * element_bytes));
  if (!running->block->kernel().settings.checks) return;
  for (Index at = copy.at; at < copy.at + copy.elements; ++at) {
    Shadow& element = storage.shadows[std::size_t(at)];
    element.copy = Copy::none;
    check_shared(storage, at, Access::write);
    element.copy = Copy::arrived;
  }
}

}  // namespace

void check_copy(std::size_t bytes, std::size_t zeros, std::size_t element_bytes) {
  const std::string what = "an asynchronous copy of " + std::to_string(bytes) + " bytes";
  if (bytes != 4 && bytes != 8 && bytes != 16) stop(*running, what + ": must be 4, 8 or 16");
  if (zeros > bytes) stop(*running, what + ", of which " + std::to_string(zeros) + " are zeros: must be at most all");
  if (bytes % element_bytes == 0 && zeros % element_bytes == 0) return;
  stop(*running, what + ", of which " + std::to_string(zeros) + " are zeros: both must be multiples of an element's " +
                     std::to_string(element_bytes));
}

}  // namespace fa::simt

void __pipeline_commit() { ++fa::simt::running->batches; }

void __pipeline_wait_prior(std::size_t batches) {
  fa::simt::Thread& thread = *fa::simt::running;
  const auto waits = [&](const fa::simt::Thread::Copy& copy) { return copy.batch + batches < thread.batches; };
  const auto end = std::find_if_not(thread.copies.begin(), thread.copies.end(), waits);
  std::for_each(thread.copies.begin(), end, fa::simt::arrive);
  thread.copies.erase(thread.copies.begin(), end);
}

FA_SIMT_COPY(, float);
FA_SIMT_COPY(, fa::half);
FA_SIMT_COPY(, fa::bfloat16);
