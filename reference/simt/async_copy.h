// CUDA's asynchronous copies from HBM to shared memory.
//
// What is copied is read, and counted, when the copy is issued. It arrives when the thread waits for it. In between,
// the elements hold poison, and whoever touches them is reported. For the other threads they are written at the wait:
// they need a barrier after it.

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "fa/half.h"
#include "fa/poison.h"
#include "simt/hbm.h"
#include "simt/shared.h"
#include "simt/vector.h"

namespace fa::simt {

// Faults: sizes that CUDA does not allow, or that cut an element in two.
void check_copy(std::size_t bytes, std::size_t zeros, std::size_t element_bytes);

}  // namespace fa::simt

template <class T, class Source>
void __pipeline_memcpy_async(fa::SharedAddress<T> to, fa::hbm<Source> from, std::size_t bytes, std::size_t zeros = 0) {
  static_assert(std::is_same_v<T, std::remove_const_t<Source>>, "a copy leads to elements of the same type");
  static_assert(sizeof(T) <= 16, "a copy has at most 16 bytes");
  fa::simt::check_copy(bytes, zeros, sizeof(T));
  fa::simt::require_alignment("an asynchronous copy to elements", to, fa::Index(bytes));
  fa::simt::require_alignment("an asynchronous copy from elements", from, fa::Index(bytes));

  const int elements = int(bytes / sizeof(T)), copied = int((bytes - zeros) / sizeof(T));
  std::array<T, 16 / sizeof(T)> values{}, nothing;
  if (copied > 0) from.read(0, copied, values.data());
  nothing.fill(fa::unwritten<T>());
  to.write(0, elements, nothing.data());
  for (int i = 0; i < elements && to.shadow != nullptr; ++i) to.shadow[i].copy = fa::simt::Copy::in_flight;

  fa::simt::Thread& thread = *fa::simt::running;
  fa::simt::Thread::Copy copy{.storage = to.storage, .at = to.index(), .elements = elements, .batch = thread.batches};
  std::memcpy(copy.values.data(), values.data(), bytes);
  thread.copies.push_back(copy);
}

// Compiled once, in async_copy.cpp.
#define FA_SIMT_COPY(keyword, T) \
  keyword template void __pipeline_memcpy_async(fa::SharedAddress<T>, fa::hbm<const T>, std::size_t, std::size_t)
FA_SIMT_COPY(extern, float);
FA_SIMT_COPY(extern, fa::half);
FA_SIMT_COPY(extern, fa::bfloat16);

// What this thread has issued since its last commit becomes a batch.
void __pipeline_commit();

// Waits for all batches of this thread but the latest `batches`.
void __pipeline_wait_prior(std::size_t batches);
