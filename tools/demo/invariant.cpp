// `./course demo invariant`: how lesson 02's state (m, l, u) evolves from tile to tile, beside the exact state of the
// keys seen so far. Prints JSON for tools/course/demo_invariant.py:
//
//   demo_invariant --scores 2,1,0 --values 1,3,5 --tile 2

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <span>
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

ExactState exact_state(const Row& row) {
  ExactState exact;
  for (std::size_t j = 0; j < row.scores.size(); ++j) exact.m = std::max(exact.m, double(row.scores[j]));
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    const double weight = row.scores[j] == kNegativeInfinity ? 0.0 : std::exp(double(row.scores[j]) - exact.m);
    exact.l += weight;
    exact.u += weight * double(row.values[j]);
  }
  return exact;
}

void print_pair(const char* name, double got, double exact) {
  std::printf("\"%s\": %s, \"%s_exact\": %s, ", name, demo::json(got).c_str(), name, demo::json(exact).c_str());
}

// Keys [first, last) of the row.
struct Tile {
  std::size_t first, last;
};

// Absorbs the tiles in the order given and prints a row for each.
void print_order(const char* name, const Row& row, const std::vector<Tile>& tiles) {
  std::printf("{\"name\": \"%s\", \"rows\": [", name);
  lesson::AttentionState state;
  Row seen;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const auto [first, last] = tiles[t];
    const std::span scores = std::span(row.scores).subspan(first, last - first);
    const std::span values = std::span(row.values).subspan(first, last - first);
    const float m_before = state.m;
    state = lesson::absorb(state, scores, values);
    seen.scores.insert(seen.scores.end(), scores.begin(), scores.end());
    seen.values.insert(seen.values.end(), values.begin(), values.end());

    const ExactState exact = exact_state(seen);
    std::printf("%s{\"tile\": [", t == 0 ? "" : ", ");
    for (std::size_t j = 0; j < scores.size(); ++j) {
      std::printf("%s%s", j == 0 ? "" : ", ", demo::json(double(scores[j])).c_str());
    }
    std::printf("], \"keys_seen\": %zu, ", seen.scores.size());
    print_pair("m", double(state.m), exact.m);
    print_pair("l", double(state.l), exact.l);
    print_pair("u", double(state.u), exact.u);
    print_pair("output", double(lesson::output(state)), exact.l == 0.0 ? exact.u : exact.u / exact.l);
    // What the stored l and u were multiplied by; nothing was stored before the first tile.
    const double rescale = m_before == kNegativeInfinity ? 0.0 : std::exp(double(m_before) - double(state.m));
    std::printf("\"rescale\": %s}", t == 0 ? "null" : demo::json(rescale).c_str());
  }
  std::printf("]}");
}

std::vector<Tile> tiles_of(std::size_t keys, std::size_t tile) {
  std::vector<Tile> tiles;
  for (std::size_t first = 0; first < keys; first += tile) tiles.push_back({first, std::min(first + tile, keys)});
  return tiles;
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

  std::vector<Tile> tiles = tiles_of(row.scores.size(), std::size_t(tile));
  std::printf("{\"orders\": [");
  print_order("in order", row, tiles);
  std::printf(", ");
  std::reverse(tiles.begin(), tiles.end());
  print_order("reversed", row, tiles);
  std::printf("]}\n");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_invariant: %s\n", error.what());
  return 2;
}
