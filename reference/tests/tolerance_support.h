// What the tests of the tolerances share: forward and backward.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "fa/shape.h"

namespace support {

inline const fa::Shape shapes[] = {{.B = 1, .H = 1, .Nq = 7, .Nk = 7, .D = 5},
                                   {.B = 2, .H = 3, .Nq = 33, .Nk = 47, .D = 19},
                                   {.B = 1, .H = 1, .Nq = 63, .Nk = 65, .D = 63},
                                   {.B = 1, .H = 2, .Nq = 20, .Nk = 127, .D = 64}};

// Where |x| is the median.
inline std::size_t typical(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::abs(values[a]) < std::abs(values[b]); });
  return order[order.size() / 2];
}

}  // namespace support
