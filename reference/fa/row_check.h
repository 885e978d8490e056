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
#include "fa/poison.h"
#include "fa/shape.h"

namespace fa {

// The row of query i in head h, counted through all batches.
template <class T>
void check_row(std::string_view what, std::span<const float> q, std::span<const float> k, std::span<const float> v,
               const DeviceBuffer<T>& out, const Shape& shape, const Options& options, double unit, Index h, Index i) {
  const auto part = [](std::span<const float> all, Index first, Index count) {
    return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  };
  // One query and the keys that it sees are attention too, a small one, without a mask.
  const Index visible = visible_keys(shape, options, i);
  const Shape row{.Nk = visible, .D = shape.D};
  const Options unmasked{.causal = false, .scale = scale_of(shape, options)};
  const Index given = h % (static_cast<Index>(q.size()) / (shape.Nq * shape.D));
  const auto query = part(q, (given * shape.Nq + i) * shape.D, shape.D);
  const auto keys = part(k, given * shape.Nk * shape.D, visible * shape.D);
  const auto values = part(v, given * shape.Nk * shape.D, visible * shape.D);

  const std::vector<double> expected = attention_forward_oracle(query, keys, values, row, unmasked).out;
  const Tolerance tolerance = forward_tolerance(query, keys, values, expected, row, unmasked, unit);
  const std::vector<T> written = out.to_host((h * shape.Nq + i) * shape.D, shape.D);
  std::vector<float> got;
  for (const T& element : written) got.push_back(is_poison(element) ? poison() : float(element));
  const Comparison comparison = compare("out", got, expected, {{"d", shape.D}}, tolerance);
  if (comparison.ok) return;
  throw std::runtime_error(std::string(what) + ": wrong in head " + std::to_string(h) + ", query " + std::to_string(i) +
                           ": " + comparison.message);
}

// The corners of q, and two rows within. Throws std::runtime_error with `what`, head, query, expected and got. Returns
// how many rows it looked at.
//
// q, k and v may hold fewer heads, as benchmarks repeat them: then those begin again after the last one. `unit`: see
// forward_tolerance.
template <class T>
int check_rows(std::string_view what,
               std::span<const float> q,    // (B, H, Nq, D)
               std::span<const float> k,    // (B, H, Nk, D)
               std::span<const float> v,    // (B, H, Nk, D)
               const DeviceBuffer<T>& out,  // (B, H, Nq, D)
               const Shape& shape, const Options& options, double unit = 0.0) {
  if (query_rows(shape) == 0) return 0;
  const Index last_head = heads(shape) - 1, last = shape.Nq - 1;
  std::vector<std::pair<Index, Index>> rows{
      {0, 0}, {0, last}, {last_head, 0}, {last_head, last}, {0, last * 2 / 3}, {last_head / 2, last / 3}};
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const auto& [h, i] : rows) check_row(what, q, k, v, out, shape, options, unit, h, i);
  return static_cast<int>(rows.size());
}

}  // namespace fa
