// The kernels that `./course demo` runs: those of lesson 05 (standard attention), 06 (FlashAttention, V1) and 11 (V2).

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "fa/device.h"
#include "fa/inputs.h"
#include "fa/traffic.h"

// The solutions, each in its own namespace: see cmake/Lesson.cmake.
namespace lesson_05 {
void scores(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, fa::DeviceBuffer<float>& s,
            const fa::Shape& shape, const fa::Options& options);
void softmax(const fa::DeviceBuffer<float>& s, fa::DeviceBuffer<float>& p, const fa::Shape& shape);
void product(const fa::DeviceBuffer<float>& p, const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out,
             const fa::Shape& shape, const fa::Options& options);
fa::Traffic forward_traffic(const fa::Shape& shape);
}  // namespace lesson_05
namespace lesson_06 {
void initialize(fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l,
                const fa::Shape& shape);
void absorb_tiles(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
                  fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m, fa::DeviceBuffer<float>& l,
                  const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile,
                  fa::Index end_tile);
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);
}  // namespace lesson_06
namespace lesson_11 {
void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& lse,
                       const fa::Shape& shape, const fa::Options& options);
fa::Index shared_memory_bytes(fa::Index D);
}  // namespace lesson_11

namespace demo {

struct Problem {
  fa::Shape shape;
  std::vector<float> q_values, k_values, v_values;
  fa::DeviceBuffer<float> q{"q", q_values}, k{"k", k_values}, v{"v", v_values};
};

// Random operands, made at the same time: at the sizes of real models they are many.
inline Problem random_problem(const fa::Shape& shape) {
  const auto sample = [](fa::Index count, std::uint64_t seed) {
    return std::async(std::launch::async, fa::normal_values, count, seed);
  };
  auto q = sample(fa::query_elements(shape), 1);
  auto k = sample(fa::key_elements(shape), 2);
  auto v = sample(fa::key_elements(shape), 3);
  return {.shape = shape, .q_values = q.get(), .k_values = k.get(), .v_values = v.get()};
}

// Called after each step of a run, with its name, such as "K/V tile 3".
using Done = std::function<void(const std::string& step)>;

struct Algorithm {
  const char* name;
  fa::Tiles tiles;
  fa::Index shared_bytes;   // of a block, as asked for at the launch
  fa::Index scratch_bytes;  // in HBM, beyond q, k, v and out
  fa::Traffic formula;
  fa::Index steps;  // into which a run can be cut, so that one can watch it
  // With `done`, a launch for each step; the bytes are the same. Without it, as few launches as the lesson has.
  std::function<void(const Problem&, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch, const Done& done)> run;
};

inline fa::Index tiles_in(fa::Index extent, fa::Index tile) { return (extent + tile - 1) / tile; }

// A step for each of its three kernels.
inline Algorithm standard(const fa::Shape& shape) {
  return {.name = "standard",
          .tiles = {.Br = 32, .Bc = 32},
          .shared_bytes = 0,
          .scratch_bytes = fa::standard_forward_scratch(shape),
          .formula = lesson_05::forward_traffic(shape),
          .steps = 3,
          .run = [](const Problem& of, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch, const Done& done) {
            const auto say = [&](const char* step) {
              if (done) done(step);
            };
            const fa::Index pairs = fa::query_rows(of.shape) * of.shape.Nk;
            auto s = scratch.allocate<float>("S", pairs), p = scratch.allocate<float>("P", pairs);
            lesson_05::scores(of.q, of.k, s, of.shape, {});
            say("kernel 1, S = QKᵀ");
            lesson_05::softmax(s, p, of.shape);
            say("kernel 2, P = softmax(S)");
            lesson_05::product(p, of.v, out, of.shape, {});
            say("kernel 3, out = PV");
          }};
}

// A step to initialize, and one for each K/V tile: V1 keeps its state in HBM, so it can stop after any of them.
inline Algorithm v1(const fa::Shape& shape, const fa::Tiles& tiles) {
  const fa::Index kv_tiles = tiles_in(shape.Nk, tiles.Bc);
  return {.name = "V1",
          .tiles = tiles,
          .shared_bytes = lesson_06::shared_memory_bytes(tiles, shape.D),
          .scratch_bytes = fa::v1_forward_scratch(shape),
          .formula = fa::v1_forward_traffic(shape, {}, tiles),
          .steps = 1 + kv_tiles,
          .run = [tiles, kv_tiles](const Problem& of, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch,
                                   const Done& done) {
            auto m = scratch.allocate<float>("m", fa::query_rows(of.shape));
            auto l = scratch.allocate<float>("l", fa::query_rows(of.shape));
            lesson_06::initialize(out, m, l, of.shape);
            if (done) done("out = 0, m = −∞, l = 0");
            const fa::Index at_once = done ? 1 : kv_tiles;
            for (fa::Index j = 0; j < kv_tiles; j += at_once) {
              lesson_06::absorb_tiles(of.q, of.k, of.v, out, m, l, of.shape, {}, tiles, j, j + at_once);
              if (done) done("K/V tile " + std::to_string(j + 1) + " of " + std::to_string(kv_tiles));
            }
          }};
}

// A step for each Q tile, which is what a block of V2 does: without a mask, a tile of queries is attention too. To be
// watched, it takes one head.
inline Algorithm v2(const fa::Shape& shape) {
  const fa::Tiles tiles{.Br = 64, .Bc = 32};  // lesson 11's: with others, count and formula would differ
  const fa::Index q_tiles = tiles_in(shape.Nq, tiles.Br);
  return {.name = "V2",
          .tiles = tiles,
          .shared_bytes = lesson_11::shared_memory_bytes(shape.D),
          .scratch_bytes = fa::v2_forward_scratch(shape),
          .formula = fa::v2_forward_traffic(shape, {}, tiles),
          .steps = q_tiles,
          .run = [tiles, q_tiles](const Problem& of, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch,
                                  const Done& done) {
            auto lse = scratch.allocate<float>("lse", fa::query_rows(of.shape));
            if (!done) return lesson_11::attention_forward(of.q, of.k, of.v, out, lse, of.shape, {});
            const fa::Index D = of.shape.D;
            for (fa::Index tile = 0; tile < q_tiles; ++tile) {
              const fa::Index i = tile * tiles.Br, rows = std::min(tiles.Br, of.shape.Nq - i);
              const std::span<const float> queries(of.q_values.data() + i * D, std::size_t(rows * D));
              const fa::DeviceBuffer<float> q_part("q", queries);
              fa::DeviceBuffer<float> out_part("out", rows * D), lse_part("lse", rows);
              const fa::Shape part{.Nq = rows, .Nk = of.shape.Nk, .D = D};
              lesson_11::attention_forward(q_part, of.k, of.v, out_part, lse_part, part, {});
              out.from_host(out_part.to_host(), i * D);
              lse.from_host(lse_part.to_host(), i);
              done("Q tile " + std::to_string(tile + 1) + " of " + std::to_string(q_tiles));
            }
          }};
}

// In the order in which they are shown.
inline std::vector<Algorithm> algorithms(const fa::Shape& shape) {
  return {standard(shape), v1(shape, {.Br = 32, .Bc = 32}), v1(shape, {.Br = 64, .Bc = 64}), v2(shape)};
}

}  // namespace demo
