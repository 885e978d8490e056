// `./course demo invariant`: how lesson 02's state (m, l, u) evolves from tile to tile, beside the exact state of the
// keys seen so far. Prints JSON for tools/course/demo_invariant.py:
//
//   demo_invariant --scores 2,1,0 --values 1,3,5 --tile 2

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.h"
#include "online_softmax.h"

namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

struct Row {
  std::vector<float> scores, values;
};

// What m, l, u are for these keys, from the definitions, in double.
struct ExactState {
  double m = -std::numeric_limits<double>::infinity(), l = 0.0, u = 0.0;
};

ExactState exact_state(const Row& row, std::size_t keys) {
  ExactState exact;
  for (std::size_t j = 0; j < keys; ++j) exact.m = std::max(exact.m, double(row.scores[j]));
  for (std::size_t j = 0; j < keys; ++j) {
    const double weight = row.scores[j] == kNegativeInfinity ? 0.0 : std::exp(double(row.scores[j]) - exact.m);
    exact.l += weight;
    exact.u += weight * double(row.values[j]);
  }
  return exact;
}

void print_pair(const char* name, double got, double exact) {
  std::printf("\"%s\": %s, \"%s_exact\": %s, ", name, demo::json(got).c_str(), name, demo::json(exact).c_str());
}

void print_order(const char* name, const Row& row, std::size_t tile) {
  std::printf("{\"name\": \"%s\", \"rows\": [", name);
  lesson::AttentionState state;
  for (std::size_t first = 0; first < row.scores.size(); first += tile) {
    const std::size_t keys = std::min(tile, row.scores.size() - first), seen = first + keys;
    const float m_before = state.m;
    state = lesson::absorb(state, {row.scores.data() + first, keys}, {row.values.data() + first, keys});

    const ExactState exact = exact_state(row, seen);
    std::printf("%s{\"tile\": [", first == 0 ? "" : ", ");
    for (std::size_t j = first; j < seen; ++j) {
      std::printf("%s%s", j == first ? "" : ", ", demo::json(double(row.scores[j])).c_str());
    }
    std::printf("], \"keys_seen\": %zu, ", seen);
    print_pair("m", double(state.m), exact.m);
    print_pair("l", double(state.l), exact.l);
    print_pair("u", double(state.u), exact.u);
    print_pair("output", double(lesson::output(state)), exact.l == 0.0 ? exact.u : exact.u / exact.l);
    // What the stored l and u were multiplied by; nothing was stored before the first tile.
    const double rescale = m_before == kNegativeInfinity ? 0.0 : std::exp(double(m_before) - double(state.m));
    std::printf("\"rescale\": %s}", first == 0 ? "null" : demo::json(rescale).c_str());
  }
  std::printf("]}");
}

// The same tiles, last one first; within a tile the keys keep their order.
Row reversed_tiles(const Row& row, std::size_t tile) {
  Row reversed;
  const std::size_t tiles = (row.scores.size() + tile - 1) / tile;
  for (std::size_t t = tiles; t-- > 0;) {
    const std::size_t first = t * tile, last = std::min(first + tile, row.scores.size());
    reversed.scores.insert(reversed.scores.end(), row.scores.begin() + std::ptrdiff_t(first),
                           row.scores.begin() + std::ptrdiff_t(last));
    reversed.values.insert(reversed.values.end(), row.values.begin() + std::ptrdiff_t(first),
                           row.values.begin() + std::ptrdiff_t(last));
  }
  return reversed;
}

}  // namespace

int main(int argc, char** argv) try {
  const demo::Arguments arguments(argc, argv, {"--scores", "--values", "--tile"});
  const Row row{arguments.numbers("--scores"), arguments.numbers("--values")};
  const fa::Index tile = arguments.integer("--tile", 1);
  if (row.scores.size() != row.values.size()) {
    throw std::invalid_argument("--values has " + std::to_string(row.values.size()) +
                                " numbers: must have as many as --scores, " + std::to_string(row.scores.size()));
  }
  if (tile < 1) throw std::invalid_argument("--tile = " + std::to_string(tile) + ": must be at least 1");

  std::printf("{\"orders\": [");
  print_order("in order", row, std::size_t(tile));
  std::printf(", ");
  print_order("reversed", reversed_tiles(row, std::size_t(tile)), std::size_t(tile));
  std::printf("]}\n");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_invariant: %s\n", error.what());
  return 2;
}
