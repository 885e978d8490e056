#include "fa/traffic.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fa {
namespace {

// No term of a formula exceeds B · H · Nq · Nk · D elements, an extent of 0 taken as 1, and no result has more than 32
// such terms. In double, so that the check itself does not overflow.
void validate_countable(const Shape& shape, Index element_bytes) {
  if (element_bytes < 1) {
    throw std::invalid_argument("element_bytes = " + std::to_string(element_bytes) + ": must be at least 1");
  }
  double bytes = 32.0 * double(element_bytes);
  for (const Index extent : {shape.B, shape.H, shape.Nq, shape.Nk, shape.D}) {
    bytes *= double(std::max(extent, Index{1}));
  }
  if (bytes >= 0x1p63) {
    throw std::invalid_argument("B, H, Nq, Nk, D = " + std::to_string(shape.B) + ", " + std::to_string(shape.H) + ", " +
                                std::to_string(shape.Nq) + ", " + std::to_string(shape.Nk) + ", " +
                                std::to_string(shape.D) + ": 32 times their product, in bytes, must be below 2^63");
  }
}

// Keys that at least one query of the tile [first, last] sees: those of its last query.
Index visible_to_tile(const Shape& shape, const Options& options, Index first, Index Br) {
  return visible_keys(shape, options, std::min(first + Br, shape.Nq) - 1);
}

// Rows of Q tiles that meet a K/V tile, summed over the pairs of tiles of one head.
Index rows_that_meet(const Shape& shape, const Options& options, const Tiles& tiles) {
  Index rows = 0;
  for (Index i = 0; i < shape.Nq; i += tiles.Br) {
    const Index visible = visible_to_tile(shape, options, i, tiles.Br);
    rows += std::min(tiles.Br, shape.Nq - i) * ((visible + tiles.Bc - 1) / tiles.Bc);
  }
  return rows;
}

// Pairs of a query and a key that it sees, over all heads.
Index visible_pairs(const Shape& shape, const Options& options) {
  Index pairs = 0;
  for (Index i = 0; i < shape.Nq; ++i) pairs += visible_keys(shape, options, i);
  return heads(shape) * pairs;
}

}  // namespace

Traffic standard_forward_traffic(const Shape& shape, Index element_bytes) {
  validate(shape, {});
  validate_countable(shape, element_bytes);
  const Index q = query_elements(shape), k = key_elements(shape), s = score_elements(shape);
  return {(q + k + s + s + k) * element_bytes, (s + s + q) * element_bytes};
}

Traffic v1_forward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes) {
  validate(shape, options);
  validate(tiles);
  validate_countable(shape, element_bytes);
  const Index rows = rows_that_meet(shape, options, tiles);
  const Index out_and_statistics = shape.D * element_bytes + 2 * statistic_bytes;  // bytes a row
  const Index read = 2 * shape.Nk * shape.D * element_bytes + rows * (shape.D * element_bytes + out_and_statistics);
  const Index written = (shape.Nq + rows) * out_and_statistics;
  return {heads(shape) * read, heads(shape) * written};
}

Traffic v1_tensor_core_traffic(const Shape& shape, const Options& options, const Tiles& tiles) {
  validate(shape, options);
  validate(tiles);
  validate_countable(shape, 4);
  const Index half_row = 2 * shape.D, state_row = 4 * shape.D + 2 * statistic_bytes;  // bytes
  Index read = 2 * shape.Nk * half_row, written = 0;
  for (Index i = 0; i < shape.Nq; i += tiles.Br) {
    const Index rows = std::min(tiles.Br, shape.Nq - i);
    const Index visible = visible_to_tile(shape, options, i, tiles.Br);
    const Index pairs = std::max(Index{1}, (visible + tiles.Bc - 1) / tiles.Bc);
    read += rows * (pairs * half_row + (pairs - 1) * state_row);
    written += rows * ((pairs - 1) * state_row + 2 * statistic_bytes + half_row);
  }
  return {heads(shape) * read, heads(shape) * written};
}

Traffic v2_forward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes) {
  validate(shape, options);
  validate(tiles);
  validate_countable(shape, element_bytes);
  Index keys = 0;  // rows of K that meet a Q tile, summed over the Q tiles of one head
  for (Index i = 0; i < shape.Nq; i += tiles.Br) {
    const Index visible = visible_to_tile(shape, options, i, tiles.Br);
    keys += std::min((visible + tiles.Bc - 1) / tiles.Bc * tiles.Bc, shape.Nk);  // a tile is read whole
  }
  const Index read = (shape.Nq + 2 * keys) * shape.D * element_bytes;
  const Index written = shape.Nq * (shape.D * element_bytes + statistic_bytes);
  return {heads(shape) * read, heads(shape) * written};
}

Traffic least_forward_traffic(const Shape& shape, Index element_bytes) {
  validate(shape, {});
  validate_countable(shape, element_bytes);
  const Index q = query_elements(shape), k = key_elements(shape);
  return {(q + 2 * k) * element_bytes, q * element_bytes + query_rows(shape) * statistic_bytes};
}

Index standard_forward_scratch(const Shape& shape, Index element_bytes) {
  validate(shape, {});
  validate_countable(shape, element_bytes);
  return 2 * score_elements(shape) * element_bytes;
}

Index v1_forward_scratch(const Shape& shape) {
  validate(shape, {});
  return 2 * query_rows(shape) * statistic_bytes;
}

Index v1_tensor_core_scratch(const Shape& shape) {
  validate(shape, {});
  validate_countable(shape, 4);
  return query_rows(shape) * (4 * shape.D + 2 * statistic_bytes);
}

Index v2_forward_scratch(const Shape& shape) {
  validate(shape, {});
  return query_rows(shape) * statistic_bytes;
}

Index forward_flops(const Shape& shape, const Options& options) {
  validate(shape, options);
  validate_countable(shape, 1);
  return 4 * shape.D * visible_pairs(shape, options);
}

Traffic standard_backward_traffic(const Shape& shape, Index element_bytes) {
  validate(shape, {});
  validate_countable(shape, element_bytes);
  const Index q = query_elements(shape), k = key_elements(shape), s = score_elements(shape);
  const Index read = (s + q) + (q + k) + (s + s) + (s + k) + (s + q);  // P, dO; dO, V; P, dP; dS, K; dS, Q
  const Index written = k + s + s + q + k;                             // dV; dP; dS; dQ; dK
  return {read * element_bytes, written * element_bytes};
}

Traffic v1_backward_traffic(const Shape& shape, const Options& options, const Tiles& tiles, Index element_bytes) {
  validate(shape, options);
  validate(tiles);
  validate_countable(shape, element_bytes);
  const Index rows = rows_that_meet(shape, options, tiles);
  const Index row = shape.D * element_bytes, keys = 2 * shape.Nk * row;  // bytes of a row; of K and V, or of dK and dV
  const Index read = keys + rows * (4 * row + 2 * statistic_bytes);
  const Index written = keys + (shape.Nq + rows) * row;
  return {heads(shape) * read, heads(shape) * written};
}

Index standard_training_scratch(const Shape& shape, Index element_bytes) {
  validate(shape, {});
  validate_countable(shape, element_bytes);
  return 3 * score_elements(shape) * element_bytes + query_rows(shape) * statistic_bytes;
}

Index v1_training_scratch(const Shape& shape) { return v1_forward_scratch(shape); }

Index backward_flops(const Shape& shape, const Options& options, Weights weights) {
  validate(shape, options);
  validate_countable(shape, 1);
  const Index products = weights == Weights::stored ? 4 : 5;
  return 2 * products * shape.D * visible_pairs(shape, options);
}

}  // namespace fa
