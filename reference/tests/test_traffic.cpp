// fa/traffic.h: the closed formulas, against numbers from the literature and against a count pair by pair.

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "fa/testing.h"
#include "fa/traffic.h"

namespace {

using Catch::Matchers::ContainsSubstring;

const fa::Tiles kTiles[] = {{.Br = 1, .Bc = 1},  {.Br = 4, .Bc = 7},   {.Br = 32, .Bc = 32},
                            {.Br = 16, .Bc = 3}, {.Br = 3, .Bc = 200}, {.Br = 16777216, .Bc = 16777216}};

// Whether any query of rows [i, i + Br) sees any key of [j, j + Bc): by the definition of the mask, pair by pair.
bool meet(const fa::Shape& shape, bool causal, const fa::Tiles& tiles, fa::Index i, fa::Index j) {
  for (fa::Index query = i; query < std::min(i + tiles.Br, shape.Nq); ++query) {
    for (fa::Index key = j; key < std::min(j + tiles.Bc, shape.Nk); ++key) {
      if (!causal || key <= query + shape.Nk - shape.Nq) return true;
    }
  }
  return false;
}

// Bytes counted tile by tile, in the order of the loops.
fa::Traffic count_v1(const fa::Shape& shape, bool causal, const fa::Tiles& tiles, fa::Index bytes) {
  fa::Traffic head{0, shape.Nq * (shape.D * bytes + 4 + 4)};  // the first fill of out, m, l
  for (fa::Index j = 0; j < shape.Nk; j += tiles.Bc) {
    head.read_bytes += 2 * std::min(tiles.Bc, shape.Nk - j) * shape.D * bytes;  // K, V
    for (fa::Index i = 0; i < shape.Nq; i += tiles.Br) {
      if (!meet(shape, causal, tiles, i, j)) continue;
      const fa::Index rows = std::min(tiles.Br, shape.Nq - i);
      head.read_bytes += rows * (2 * shape.D * bytes + 4 + 4);  // Q, out, m, l
      head.written_bytes += rows * (shape.D * bytes + 4 + 4);   // out, m, l
    }
  }
  return {shape.B * shape.H * head.read_bytes, shape.B * shape.H * head.written_bytes};
}

// In half precision, on tensor cores. All Q tiles meet the first K/V tile, which begins their state; the last one that
// a Q tile meets writes out.
fa::Traffic count_v1_tensor_core(const fa::Shape& shape, bool causal, const fa::Tiles& tiles) {
  fa::Traffic head{2 * shape.Nk * shape.D * 2, 0};  // K, V
  for (fa::Index i = 0; i < shape.Nq; i += tiles.Br) {
    const fa::Index rows = std::min(tiles.Br, shape.Nq - i);
    for (fa::Index j = 0; j == 0 || j < shape.Nk; j += tiles.Bc) {
      if (j > 0 && !meet(shape, causal, tiles, i, j)) continue;
      const bool last = j + tiles.Bc >= shape.Nk || !meet(shape, causal, tiles, i, j + tiles.Bc);
      head.read_bytes += rows * shape.D * 2;                            // Q
      if (j > 0) head.read_bytes += rows * (shape.D * 4 + 4 + 4);       // partial, m, l
      head.written_bytes += rows * (shape.D * (last ? 2 : 4) + 4 + 4);  // out or partial; m, l
    }
  }
  return {shape.B * shape.H * head.read_bytes, shape.B * shape.H * head.written_bytes};
}

fa::Traffic count_v2(const fa::Shape& shape, bool causal, const fa::Tiles& tiles, fa::Index bytes) {
  fa::Traffic head{0, 0};
  for (fa::Index i = 0; i < shape.Nq; i += tiles.Br) {
    const fa::Index rows = std::min(tiles.Br, shape.Nq - i);
    head.read_bytes += rows * shape.D * bytes;           // Q
    head.written_bytes += rows * (shape.D * bytes + 4);  // out, lse
    for (fa::Index j = 0; j < shape.Nk; j += tiles.Bc) {
      if (meet(shape, causal, tiles, i, j)) head.read_bytes += 2 * std::min(tiles.Bc, shape.Nk - j) * shape.D * bytes;
    }
  }
  return {shape.B * shape.H * head.read_bytes, shape.B * shape.H * head.written_bytes};
}

}  // namespace

// ---- Numbers

TEST_CASE("V1 at N = 512, d = 64, Br = Bc = 32 reads 4,521,984 bytes and writes 2,162,688 after the first fill") {
  const fa::Traffic traffic = fa::v1_forward_traffic({.Nq = 512, .Nk = 512, .D = 64}, {}, {.Br = 32, .Bc = 32});
  const fa::Index first_fill = 512 * (64 + 2) * 4;  // of out, m and l: the counters saw the kernel alone
  CHECK(first_fill == 135168);
  CHECK(traffic.read_bytes == 4521984);
  CHECK(traffic.written_bytes - first_fill == 2162688);
}

TEST_CASE("V1 at N = 2048, d = 64, 264 heads, Br = Bc = 32 reads 18.27 GB") {
  const fa::Traffic traffic =
      fa::v1_forward_traffic({.B = 8, .H = 33, .Nq = 2048, .Nk = 2048, .D = 64}, {}, {.Br = 32, .Bc = 32});
  CHECK(traffic.read_bytes == 18270388224);
}

TEST_CASE("V1 on tensor cores: without a mask, 2 Tc - 1 passes over a float row and half rows for the rest") {
  const fa::Index N = 4096, D = 64, Tc = 6;  // of 768 keys; the last one is partial
  const fa::Traffic traffic = fa::v1_tensor_core_traffic({.Nq = N, .Nk = N, .D = D}, {}, {.Br = 16, .Bc = 768});
  CHECK(traffic.read_bytes == 2 * 2 * N * D + Tc * 2 * N * D + (Tc - 1) * (4 * N * D + 8 * N));
  CHECK(traffic.written_bytes == Tc * 8 * N + (Tc - 1) * 4 * N * D + 2 * N * D);
  // One K/V tile reads q, k, v and writes out, and m and l: the least, but for one of the two statistics.
  const fa::Traffic one_tile = fa::v1_tensor_core_traffic({.Nq = 512, .Nk = 512, .D = D}, {}, {.Br = 16, .Bc = 512});
  const fa::Traffic least = fa::least_forward_traffic({.Nq = 512, .Nk = 512, .D = D}, 2);
  CHECK(one_tile == fa::Traffic{least.read_bytes, least.written_bytes + 4 * 512});
}

TEST_CASE("standard attention moves 4 N^2 + 4 N d elements a head, half of S's four passes writing") {
  const fa::Index N = 1024, D = 64;
  const fa::Traffic traffic = fa::standard_forward_traffic({.B = 2, .H = 3, .Nq = N, .Nk = N, .D = D});
  CHECK(traffic.total() == 6 * (4 * N * N + 4 * N * D) * 4);
  CHECK(traffic.written_bytes == 6 * (2 * N * N + N * D) * 4);
}

TEST_CASE("in half precision, standard attention moves 8 N^2 + 8 N d bytes a head") {
  const fa::Index N = 4096, D = 128;
  CHECK(fa::standard_forward_traffic({.Nq = N, .Nk = N, .D = D}, 2).total() == 8 * N * N + 8 * N * D);
  CHECK(fa::standard_forward_scratch({.Nq = N, .Nk = N, .D = D}, 2) == 2 * 33554432);  // S and P: 32 MiB each
}

TEST_CASE("standard attention reads and writes by Nq and Nk where they belong") {
  const fa::Traffic traffic = fa::standard_forward_traffic({.B = 2, .H = 1, .Nq = 5, .Nk = 7, .D = 3});
  CHECK(traffic == fa::Traffic{2 * (15 + 21 + 35 + 35 + 21) * 4, 2 * (35 + 35 + 15) * 4});
}

TEST_CASE("V2 without a mask reads Nq D + Tr 2 Nk D and writes Nq D + Nq elements") {
  const fa::Traffic traffic = fa::v2_forward_traffic({.Nq = 100, .Nk = 60, .D = 8}, {}, {.Br = 32, .Bc = 16});
  CHECK(traffic == fa::Traffic{(100 * 8 + 4 * 2 * 60 * 8) * 4, (100 * 8 + 100) * 4});
}

TEST_CASE("the least traffic reads Q, K, V and writes out and lse: 4 N d + N elements") {
  const fa::Index N = 512, D = 64;
  CHECK(fa::least_forward_traffic({.B = 3, .H = 2, .Nq = N, .Nk = N, .D = D}).total() == 6 * (4 * N * D + N) * 4);
  CHECK(fa::least_forward_traffic({.Nq = 5, .Nk = 7, .D = 3}, 2) == fa::Traffic{(15 + 42) * 2, 15 * 2 + 5 * 4});
}

TEST_CASE("scratch: S and P for standard attention, m and l for V1, and partial on tensor cores; lse for V2") {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 11};
  CHECK(fa::standard_forward_scratch(shape) == 2 * 6 * 35 * 4);
  CHECK(fa::v1_forward_scratch(shape) == 2 * 30 * 4);
  CHECK(fa::v1_tensor_core_scratch(shape) == (30 * 11 + 2 * 30) * 4);
  CHECK(fa::v2_forward_scratch(shape) == 30 * 4);
}

TEST_CASE("a forward pass is 4 N^2 D operations a head, half of it and a diagonal under a causal mask") {
  const fa::Shape shape{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
  CHECK(fa::forward_flops(shape, {}) == 274877906944);  // 4 · 1024² · 64 · 16 · 64
  CHECK(fa::forward_flops(shape, {.causal = true}) == 274877906944 / 2 + 64 * 16 * 4 * 64 * 1024 / 2);
}

// ---- Against the count

TEST_CASE("V1 and V2 move the bytes that are counted tile by tile, on every ragged shape, causal or not") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const fa::Tiles& tiles : kTiles) {
      for (const bool causal : {false, true}) {
        CAPTURE(shape, tiles, causal);
        CHECK(fa::v1_tensor_core_traffic(shape, {.causal = causal}, tiles) ==
              count_v1_tensor_core(shape, causal, tiles));
        for (const fa::Index bytes : {2, 4}) {
          CAPTURE(bytes);
          CHECK(fa::v1_forward_traffic(shape, {.causal = causal}, tiles, bytes) ==
                count_v1(shape, causal, tiles, bytes));
          CHECK(fa::v2_forward_traffic(shape, {.causal = causal}, tiles, bytes) ==
                count_v2(shape, causal, tiles, bytes));
        }
      }
    }
  }
}

TEST_CASE("operations are 4 D for each pair that sees each other, on every ragged shape") {
  for (const fa::Shape& shape : fa::ragged_shapes) {
    for (const bool causal : {false, true}) {
      fa::Index pairs = 0;
      for (fa::Index i = 0; i < shape.Nq; ++i) {
        for (fa::Index j = 0; j < shape.Nk; ++j) pairs += !causal || j <= i + shape.Nk - shape.Nq ? 1 : 0;
      }
      CAPTURE(shape, causal);
      CHECK(fa::forward_flops(shape, {.causal = causal}) == shape.B * shape.H * pairs * 4 * shape.D);
    }
  }
}

TEST_CASE("an algorithm never moves less than the least") {
  for (const fa::Shape& shape :
       {fa::Shape{.B = 2, .H = 3, .Nq = 17, .Nk = 17, .D = 20}, {.Nq = 63, .Nk = 65, .D = 63}}) {
    const fa::Traffic least = fa::least_forward_traffic(shape);
    for (const fa::Tiles& tiles : kTiles) {
      for (const fa::Traffic& traffic :
           {fa::v1_forward_traffic(shape, {}, tiles), fa::v2_forward_traffic(shape, {}, tiles),
            fa::standard_forward_traffic(shape)}) {
        CAPTURE(shape, tiles);
        CHECK(traffic.read_bytes >= least.read_bytes);
        CHECK(traffic.total() > least.total() - 4 * fa::query_rows(shape));  // standard attention writes no lse
      }
    }
    CHECK(fa::v2_forward_traffic(shape, {}, {.Br = 100, .Bc = 1}) == least);
  }
}

TEST_CASE("without queries nothing is written, and without keys no product is computed") {
  const fa::Shape no_queries{.B = 3, .H = 2, .Nq = 0, .Nk = 5, .D = 4},
      no_keys{.B = 3, .H = 2, .Nq = 5, .Nk = 0, .D = 4};
  const fa::Tiles tiles{.Br = 4, .Bc = 2};
  for (const fa::Options& options : {fa::Options{}, fa::Options{.causal = true}}) {
    CHECK(fa::v1_forward_traffic(no_queries, options, tiles).written_bytes == 0);
    CHECK(fa::v1_tensor_core_traffic(no_queries, options, tiles) == fa::Traffic{6 * 2 * 5 * 4 * 2, 0});  // k and v
    CHECK(fa::v1_tensor_core_traffic(no_keys, options, tiles) ==
          fa::Traffic{6 * 5 * 4 * 2, 6 * 5 * (4 * 2 + 2 * 4)});  // q; out, m and l
    CHECK(fa::v2_forward_traffic(no_queries, options, tiles) == fa::Traffic{0, 0});
    CHECK(fa::v1_forward_traffic(no_keys, options, tiles) == fa::Traffic{0, 6 * 5 * (4 + 2) * 4});
    CHECK(fa::v2_forward_traffic(no_keys, options, tiles) == fa::Traffic{6 * 5 * 4 * 4, 6 * 5 * (4 + 1) * 4});
    CHECK(fa::forward_flops(no_queries, options) == 0);
    CHECK(fa::forward_flops(no_keys, options) == 0);
  }
  CHECK(fa::standard_forward_traffic(no_queries).written_bytes == 0);
  CHECK(fa::standard_forward_scratch(no_keys) == 0);
}

// ---- What is rejected

TEST_CASE("bad arguments are named") {
  const fa::Shape shape{.Nq = 4, .Nk = 4, .D = 2}, bad{.Nq = -4};
  const fa::Tiles tiles{.Br = 2, .Bc = 2};
  CHECK_THROWS_AS(fa::standard_forward_traffic(shape, 0), std::invalid_argument);
  CHECK_THROWS_WITH(fa::standard_forward_traffic(shape, 0), ContainsSubstring("element_bytes = 0: must be at least 1"));
  CHECK_THROWS_WITH(fa::v1_forward_traffic(shape, {}, tiles, -2), ContainsSubstring("element_bytes = -2"));
  CHECK_THROWS_WITH(fa::v2_forward_traffic(shape, {}, tiles, 0), ContainsSubstring("element_bytes = 0"));
  CHECK_THROWS_WITH(fa::least_forward_traffic(shape, 0), ContainsSubstring("element_bytes = 0"));
  CHECK_THROWS_WITH(fa::standard_forward_scratch(shape, 0), ContainsSubstring("element_bytes = 0"));
  CHECK_THROWS_WITH(fa::v1_forward_traffic(shape, {}, {.Br = 0, .Bc = 2}), ContainsSubstring("Br = 0"));
  CHECK_THROWS_WITH(fa::v1_tensor_core_traffic(shape, {}, {.Br = 2, .Bc = -1}), ContainsSubstring("Bc = -1"));
  CHECK_THROWS_WITH(fa::v2_forward_traffic(shape, {}, {.Br = 2, .Bc = 0}), ContainsSubstring("Bc = 0"));
  CHECK_THROWS_WITH(fa::standard_forward_traffic(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v1_forward_traffic(bad, {}, tiles), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v2_forward_traffic(bad, {}, tiles), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::least_forward_traffic(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::standard_forward_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v1_forward_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v1_tensor_core_traffic(bad, {}, tiles), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v1_tensor_core_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::v2_forward_scratch(bad), ContainsSubstring("Nq = -4"));
  CHECK_THROWS_WITH(fa::forward_flops(bad, {}), ContainsSubstring("Nq = -4"));
}

TEST_CASE("extents whose bytes would overflow are rejected, not answered with a wrong number") {
  const fa::Shape shape{.B = 1 << 10, .H = 1 << 10, .Nq = 1 << 17, .Nk = 1 << 17, .D = 64};
  const fa::Tiles tiles{.Br = 1 << 17, .Bc = 1 << 17};
  fa::validate(shape, {});
  CHECK_THROWS_AS(fa::standard_forward_traffic(shape), std::invalid_argument);
  CHECK_THROWS_WITH(fa::v1_forward_traffic(shape, {}, tiles),
                    ContainsSubstring("Nk, D = 1024, 1024, 131072, 131072, 64"));
  CHECK_THROWS_AS(fa::v1_tensor_core_traffic(shape, {}, tiles), std::invalid_argument);
  CHECK_THROWS_AS(fa::v2_forward_traffic(shape, {}, tiles), std::invalid_argument);
  CHECK_THROWS_AS(fa::forward_flops(shape, {}), std::invalid_argument);
  const fa::Shape large{.B = 64, .H = 32, .Nq = 1 << 17, .Nk = 1 << 17, .D = 128};  // 2⁵² products: still counted
  CHECK(fa::forward_flops(large, {}) == fa::Index{4} << 52);
  CHECK(fa::standard_forward_traffic(large).total() == (fa::Index{16} << 45) + (fa::Index{16} << 35));
}
