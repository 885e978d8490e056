// fa/traffic.h, the backward pass: the closed formulas, against numbers worked by hand and against a count pair by
// pair.

#include <algorithm>
#include <stdexcept>

#include "fa/testing.h"
#include "fa/traffic.h"

namespace {

using Catch::Matchers::ContainsSubstring;

const fa::Tiles kTiles[] = {{.Br = 1, .Bc = 1},  {.Br = 4, .Bc = 7},   {.Br = 32, .Bc = 32},
                            {.Br = 16, .Bc = 3}, {.Br = 3, .Bc = 200}, {.Br = 16777216, .Bc = 16777216}};

bool sees(const fa::Shape& shape, bool causal, fa::Index query, fa::Index key) {
  return !causal || key <= query + shape.Nk - shape.Nq;
}

// Whether any query of rows [i, i + Br) sees any key of [j, j + Bc): by the definition of the mask, pair by pair.
bool meet(const fa::Shape& shape, bool causal, const fa::Tiles& tiles, fa::Index i, fa::Index j) {
  for (fa::Index query = i; query < std::min(i + tiles.Br, shape.Nq); ++query) {
    for (fa::Index key = j; key < std::min(j + tiles.Bc, shape.Nk); ++key) {
      if (sees(shape, causal, query, key)) return true;
    }
  }
  return false;
}

// Bytes counted tile by tile, in the order of the loops.
fa::Traffic count_v1(const fa::Shape& shape, bool causal, const fa::Tiles& tiles, fa::Index bytes) {
  fa::Traffic head{0, shape.Nq * shape.D * bytes};  // the first fill of dq
  for (fa::Index j = 0; j < shape.Nk; j += tiles.Bc) {
    const fa::Index columns = std::min(tiles.Bc, shape.Nk - j);
    head.read_bytes += 2 * columns * shape.D * bytes;     // K, V
    head.written_bytes += 2 * columns * shape.D * bytes;  // dK, dV
    for (fa::Index i = 0; i < shape.Nq; i += tiles.Br) {
      if (!meet(shape, causal, tiles, i, j)) continue;
      const fa::Index rows = std::min(tiles.Br, shape.Nq - i);
      head.read_bytes += rows * (4 * shape.D * bytes + 4 + 4);  // Q, out, dO, dq, m, l
      head.written_bytes += rows * shape.D * bytes;             // dq
    }
  }
  return {shape.B * shape.H * head.read_bytes, shape.B * shape.H * head.written_bytes};
}

}  // namespace

// ---- Numbers

TEST_CASE("V1's backward pass at N = 512, d = 64, Br = Bc = 32 reads 8,716,288 bytes and writes 2,490,368") {
  // Tc = 16 sweeps over 512 rows: reads K, V once; Q, out, dO, dq, m, l 16 times. Writes dK, dV once; dq 1 + 16 times.
  const fa::Traffic traffic = fa::v1_backward_traffic({.Nq = 512, .Nk = 512, .D = 64}, {}, {.Br = 32, .Bc = 32});
  CHECK(traffic == fa::Traffic{8716288, 2490368});
  CHECK(traffic.read_bytes == 4 * (2 * 32768 + 16 * (4 * 32768 + 2 * 512)));
  CHECK(traffic.written_bytes == 4 * (2 * 32768 + 17 * 32768));
}

TEST_CASE("in half precision the matrices shrink and the statistics m and l do not") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 512, .Nk = 512, .D = 64};
  const fa::Traffic in_float = fa::v1_backward_traffic(shape, {}, {.Br = 32, .Bc = 32}, 4);
  const fa::Traffic in_half = fa::v1_backward_traffic(shape, {}, {.Br = 32, .Bc = 32}, 2);
  const fa::Index statistics = 6 * 16 * 512 * 2 * 4;
  CHECK(2 * in_half.read_bytes == in_float.read_bytes + statistics);
  CHECK(2 * in_half.written_bytes == in_float.written_bytes);
}

TEST_CASE("the standard backward pass moves 7 N^2 + 8 N d elements a head") {
  const fa::Index N = 1024, D = 64;
  const fa::Traffic traffic = fa::standard_backward_traffic({.B = 2, .H = 3, .Nq = N, .Nk = N, .D = D});
  CHECK(traffic.total() == 6 * (7 * N * N + 8 * N * D) * 4);
  CHECK(traffic.written_bytes == 6 * (2 * N * N + 3 * N * D) * 4);
}

TEST_CASE("the standard backward pass reads and writes by Nq and Nk where they belong") {
  // S has 35 elements, q and its kin 15, k and its kin 21. Kernel by kernel: reads, then writes.
  const fa::Index read = (35 + 15) + (15 + 21) + (35 + 35) + (35 + 21) + (35 + 15);
  const fa::Index written = 21 + 35 + 35 + 15 + 21;
  CHECK(fa::standard_backward_traffic({.B = 2, .H = 1, .Nq = 5, .Nk = 7, .D = 3}) ==
        fa::Traffic{2 * read * 4, 2 * written * 4});
  CHECK(fa::standard_backward_traffic({.B = 1, .H = 2, .Nq = 5, .Nk = 7, .D = 3}, 2) ==
        fa::Traffic{2 * read * 2, 2 * written * 2});
}

TEST_CASE("training scratch: P, dP, dS and delta for standard attention, m and l for V1") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 11};
  CHECK(fa::standard_training_scratch(shape) == 6 * (3 * 35 * 4 + 5 * 4));
  CHECK(fa::standard_training_scratch(shape, 2) == 6 * (3 * 35 * 2 + 5 * 4));
  CHECK(fa::v1_training_scratch(shape) == 6 * 2 * 5 * 4);
}

TEST_CASE("a backward pass is 8 N^2 D operations a head with P stored, 10 N^2 D with P recomputed") {
  const fa::Shape shape{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
  CHECK(fa::backward_flops(shape, {}, fa::Weights::stored) == 549755813888);      // 8 · 1024² · 64 · 16 · 64
  CHECK(fa::backward_flops(shape, {}, fa::Weights::recomputed) == 687194767360);  // 10 · 1024² · 64 · 16 · 64
  CHECK(2 * fa::backward_flops(shape, {}, fa::Weights::recomputed) == 5 * fa::forward_flops(shape, {}));
}

// ---- Against the count

TEST_CASE("V1's backward pass moves the bytes that are counted tile by tile, on every ragged shape, causal or not") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      for (const bool causal : {false, true}) {
        for (const fa::Index bytes : {2, 4}) {
          CAPTURE(shape, tiles, causal, bytes);
          CHECK(fa::v1_backward_traffic(shape, {.causal = causal}, tiles, bytes) ==
                count_v1(shape, causal, tiles, bytes));
        }
      }
    }
  }
}

TEST_CASE("backward operations are 8 D or 10 D for each pair that sees each other, on every ragged shape") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) {
      fa::Index pairs = 0;
      for (fa::Index i = 0; i < shape.Nq; ++i) {
        for (fa::Index j = 0; j < shape.Nk; ++j) pairs += sees(shape, causal, i, j) ? 1 : 0;
      }
      pairs *= shape.B * shape.H;
      const fa::Options options{.causal = causal};
      CAPTURE(shape, causal);
      CHECK(fa::backward_flops(shape, options, fa::Weights::stored) == pairs * 8 * shape.D);
      CHECK(fa::backward_flops(shape, options, fa::Weights::recomputed) == pairs * 10 * shape.D);
    }
  }
}

TEST_CASE("without queries the gradients of keys are written once, and without keys dq is") {
  const fa::Shape no_queries{.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 4},
      no_keys{.B = 3, .H = 2, .Nq = 5, .Nk = 0, .D = 4};
  for (const fa::Options& options : {fa::Options{}, fa::Options{.causal = true}}) {
    const fa::Index keys = 6 * 2 * 5 * 4 * 4;
    CHECK(fa::v1_backward_traffic(no_queries, options, {.Br = 4, .Bc = 2}) == fa::Traffic{keys, keys});
    CHECK(fa::v1_backward_traffic(no_keys, options, {.Br = 4, .Bc = 2}) == fa::Traffic{0, 6 * 5 * 4 * 4});
    for (const fa::Weights weights : {fa::Weights::stored, fa::Weights::recomputed}) {
      CHECK(fa::backward_flops(no_queries, options, weights) == 0);
      CHECK(fa::backward_flops(no_keys, options, weights) == 0);
    }
  }
  CHECK(fa::standard_training_scratch(no_queries) == 0);
  CHECK(fa::v1_training_scratch(no_queries) == 0);
}

// ---- What is rejected

TEST_CASE("bad arguments of the backward formulas are named") {
  const fa::Shape shape{.Nq = 4, .Nk = 4, .D = 2}, bad{.Nq = -4};
  const fa::Tiles tiles{.Br = 2, .Bc = 2};
  CHECK_THROWS_AS(fa::standard_backward_traffic(shape, 0), std::invalid_argument);
  CHECK_THROWS_WITH(fa::standard_backward_traffic(shape, 0),
                    ContainsSubstring("element_bytes = 0: must be at least 1"));
  CHECK_THROWS_WITH(fa::v1_backward_traffic(shape, {}, tiles, -2), ContainsSubstring("element_bytes = -2"));
  CHECK_THROWS_WITH(fa::standard_training_scratch(shape, 0), ContainsSubstring("element_bytes = 0"));
  CHECK_THROWS_WITH(fa::v1_backward_traffic(shape, {}, {.Br = 0, .Bc = 2}), ContainsSubstring("Br = 0"));
  CHECK_THROWS_WITH(fa::v1_backward_traffic(bad, {}, tiles), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::standard_backward_traffic(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::standard_training_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v1_training_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::backward_flops(bad, {}, fa::Weights::stored), ContainsSubstring("Nq = -4"));
}

TEST_CASE("backward extents whose bytes would overflow are rejected, not answered with a wrong number") {
  const fa::Shape shape{.B = 1 << 10, .H = 1 << 10, .Nq = 1 << 17, .Nk = 1 << 17, .D = 64};
  fa::validate(shape, {});
  CHECK_THROWS_AS(fa::standard_backward_traffic(shape), std::invalid_argument);
  CHECK_THROWS_WITH(fa::v1_backward_traffic(shape, {}, {.Br = 1 << 17, .Bc = 1 << 17}),
                    ContainsSubstring("Nk, D = 1024, 1024, 131072, 131072, 64"));
  CHECK_THROWS_AS(fa::backward_flops(shape, {}, fa::Weights::recomputed), std::invalid_argument);
  const fa::Shape large{.B = 64, .H = 32, .Nq = 1 << 17, .Nk = 1 << 17, .D = 128};  // 2⁵² products: still counted
  CHECK(fa::backward_flops(large, {}, fa::Weights::stored) == fa::Index{8} << 52);
  CHECK(fa::standard_backward_traffic(large).total() == (fa::Index{28} << 45) + (fa::Index{32} << 35));
}
