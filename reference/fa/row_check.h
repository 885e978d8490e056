// Is the output of attention right? A few of its rows, compared with the oracle: what is timed or profiled must be, and
// at sizes where the oracle of the whole would take hours.

#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa/compare.h"
#include "fa/device.h"
#include "fa/oracle.h"
#include "fa/shape.h"

namespace fa {

// The row of query i in head h, counted through all batches.
inline void check_row(std::string_view what, std::span<const float> q, std::span<const float> k,
                      std::span<const float> v, const DeviceBuffer<float>& out, const Shape& shape,
                      const Options& options, Index h, Index i) {
  const auto part = [](std::span<const float> all, Index first, Index count) {
    return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  };
  // One query and the keys that it sees are attention too, a small one, without a mask.
  const Index visible = visible_keys(shape, options, i);
  const Shape row{.Nk = visible, .D = shape.D};
  const Options unmasked{.causal = false, .scale = scale_of(shape, options)};
  const auto query = part(q, (h * shape.Nq + i) * shape.D, shape.D);
  const auto keys = part(k, h * shape.Nk * shape.D, visible * shape.D);
  const auto values = part(v, h * shape.Nk * shape.D, visible * shape.D);

  const std::vector<double> expected = attention_forward_oracle(query, keys, values, row, unmasked).out;
  const Tolerance tolerance = forward_tolerance(query, keys, values, expected, row, unmasked);
  const std::vector<float> got = out.to_host((h * shape.Nq + i) * shape.D, shape.D);
  const Comparison comparison = compare("out", got, expected, {{"d", shape.D}}, tolerance);
  if (comparison.ok) return;
  throw std::runtime_error(std::string(what) + ": wrong in head " + std::to_string(h) + ", query " + std::to_string(i) +
                           ": " + comparison.message);
}

// The corners of q, and two rows within. Throws std::runtime_error with `what`, head, query, expected and got. Returns
// how many rows it looked at.
inline int check_rows(std::string_view what,
                      std::span<const float> q,        // (B, H, Nq, D)
                      std::span<const float> k,        // (B, H, Nk, D)
                      std::span<const float> v,        // (B, H, Nk, D)
                      const DeviceBuffer<float>& out,  // (B, H, Nq, D)
                      const Shape& shape, const Options& options) {
  if (query_rows(shape) == 0) return 0;
  const Index last_head = heads(shape) - 1, last = shape.Nq - 1;
  std::vector<std::pair<Index, Index>> rows{
      {0, 0}, {0, last}, {last_head, 0}, {last_head, last}, {0, last * 2 / 3}, {last_head / 2, last / 3}};
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const auto& [h, i] : rows) check_row(what, q, k, v, out, shape, options, h, i);
  return static_cast<int>(rows.size());
}

}  // namespace fa
