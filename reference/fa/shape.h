// What every attention function in the course is asked for: the extents of its operands and two options.
//
// Layout, always: row-major and contiguous, q and out (B, H, Nq, D), k and v (B, H, Nk, D). Capital letters are
// extents: B batches, H heads, Nq queries, Nk keys, D columns. N and D are the N and d of Dao et al. 2022
// (arXiv:2205.14135).

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fa {

// Signed, so that i + Nk − Nq may be negative; 64 bits, since B · H · N · D passes 2³¹ at the sizes of real models.
using Index = std::int64_t;

struct Shape {
  Index B = 1;   // batches, at least 1
  Index H = 1;   // heads, at least 1
  Index Nq = 1;  // queries, at least 0
  Index Nk = 1;  // keys, at least 0
  Index D = 1;   // columns of a head, at least 1
};

struct Options {
  // Query i sees key j when j ≤ i + Nk − Nq: the diagonal ends in the bottom-right corner of S.
  bool causal = false;
  // The factor on Q Kᵀ. Empty: 1 / sqrt(D). Any finite number is allowed, zero and negative ones too.
  std::optional<float> scale = std::nullopt;
};

// A tile of Br queries and Bc keys, each at least 1. Neither needs to divide Nq or Nk.
struct Tiles {
  Index Br = 1;
  Index Bc = 1;
};

inline Index heads(const Shape& shape) { return shape.B * shape.H; }
inline Index query_rows(const Shape& shape) { return heads(shape) * shape.Nq; }           // of q, out, lse
inline Index key_rows(const Shape& shape) { return heads(shape) * shape.Nk; }             // of k, v
inline Index query_elements(const Shape& shape) { return query_rows(shape) * shape.D; }   // of q, out
inline Index key_elements(const Shape& shape) { return key_rows(shape) * shape.D; }       // of k, v
inline Index score_elements(const Shape& shape) { return query_rows(shape) * shape.Nk; }  // of S, P

// The factor on Q Kᵀ that `options` ask for.
float scale_of(const Shape& shape, const Options& options);

// How many keys query i sees. They are always the first ones: 0, 1, ... visible_keys − 1.
//   not causal:  Nk          causal:  i + Nk − Nq + 1, clamped to [0, Nk]
inline Index visible_keys(const Shape& shape, const Options& options, Index i) {
  if (!options.causal) return shape.Nk;
  const Index end = i + shape.Nk - shape.Nq + 1;
  return end < 0 ? 0 : end > shape.Nk ? shape.Nk : end;
}

// Throw std::invalid_argument with the argument's name, its value and what is allowed:
//   Shape    B, H, D ≥ 1; Nq, Nk ≥ 0; each below 2³¹; the bytes of each operand, and of S, countable in 63 bits
//   Options  scale finite
//   Tiles    1 ≤ Br, Bc ≤ 2²⁴, so that no product with D overflows
void validate(const Shape& shape, const Options& options);
void validate(const Tiles& tiles);

// Throws std::invalid_argument if `pointer` is null although the operand has elements.
void require_operand(std::string_view name, const void* pointer, Index elements);

// Throws std::invalid_argument unless the operand holds exactly `required` elements.
void require_elements(std::string_view name, Index elements, Index required);

}  // namespace fa
