// What both kernels of this lesson reject before anything is written: see attention_forward.h.

#pragma once

#include <stdexcept>
#include <string>

#include "attention_forward.h"

namespace lesson {

inline void require_multiple(const char* name, fa::Index value, fa::Index factor, fa::Index most) {
  if (value >= 1 && value % factor == 0 && value <= most) return;
  throw std::invalid_argument(std::string(name) + " = " + std::to_string(value) + ": must be a multiple of " +
                              std::to_string(factor) + ", from " + std::to_string(factor) + " to " +
                              std::to_string(most));
}

template <class T>
void validate(const fa::DeviceBuffer<T>& q, const fa::DeviceBuffer<T>& k, const fa::DeviceBuffer<T>& v,
              const fa::DeviceBuffer<T>& out, const State& state, const fa::Shape& shape, const fa::Options& options,
              const fa::Tiles& tiles, fa::Index most_Br, fa::Index factor_of_Bc) {
  fa::validate(shape, options);
  if (shape.D != 64 && shape.D != 128)
    throw std::invalid_argument("D = " + std::to_string(shape.D) + ": must be 64 or 128");
  require_multiple("Br", tiles.Br, kRows, most_Br);
  require_multiple("Bc", tiles.Bc, factor_of_Bc, fa::Index{1} << 24);
  if (shape.H > 65535)
    throw std::invalid_argument("H = " + std::to_string(shape.H) + ": must be at most 65535, for a grid");
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("partial", state.partial.size(), fa::query_elements(shape));
  fa::require_elements("m", state.m.size(), fa::query_rows(shape));
  fa::require_elements("l", state.l.size(), fa::query_rows(shape));
}

// Throws unless a block has `asked` bytes of shared memory.
inline void require_shared_memory(fa::Index asked, const fa::Tiles& tiles, fa::Index D) {
  const fa::Index limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::length_error("shared memory: Br = " + std::to_string(tiles.Br) + ", Bc = " + std::to_string(tiles.Bc) +
                          ", D = " + std::to_string(D) + " need " + std::to_string(asked) + " bytes, but a block has " +
                          std::to_string(limit) + " on this device");
}

}  // namespace lesson
