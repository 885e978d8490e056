// FlashAttention, backward pass, on the CPU with metered memory. Dao et al. 2022 (arXiv:2205.14135), Algorithm 4.
//
// Extends lesson 08: P is not kept. Two numbers a row, m and l, bring each tile of it back when it is needed. The loops
// are lesson 04's; now dq is what travels.

#include "attention_backward.h"

#include <algorithm>
#include <cmath>

namespace lesson {
namespace {

// Copies `count` elements from HBM to SRAM, and back.
void load(fa::hbm<const float> from, float* to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}
void store(const float* from, fa::hbm<float> to, fa::Index count) {
  for (fa::Index e = 0; e < count; ++e) to[e] = from[e];
}

float dot(const float* a, const float* b, fa::Index D) {
  float sum = 0.0f;
  for (fa::Index d = 0; d < D; ++d) sum += a[d] * b[d];
  return sum;
}

}  // namespace

fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D) {
  // TODO begin
  fa::todo("Step 1: the bytes that tiles need");
  // TODO end
}

void recompute_weights(const float* q_row,   // (D)
                       const float* k_tile,  // (columns, D)
                       float* p_row,         // (columns)
                       float m, float l, fa::Index keys, fa::Index columns, fa::Index D, float scale) {
  // TODO begin
  // p_row[j] for the first `keys` keys; 0 for the others.
  fa::todo("Step 2: a row of P from m and l");
  // TODO end
}

void add_gradients(const float* q_row,     // (D)
                   const float* out_row,   // (D)
                   const float* dout_row,  // (D)
                   const float* k_tile,    // (keys, D)
                   const float* v_tile,    // (keys, D)
                   const float* p_row,     // (keys)
                   float* dq_row,          // (D)
                   float* dk_tile,         // (keys, D)
                   float* dv_tile,         // (keys, D)
                   fa::Index keys, fa::Index D, float scale) {
  // TODO begin
  fa::todo("Step 3: what one query adds to the gradients");
  // TODO end
}

void attention_backward(fa::hbm<const float> q,     // (B, H, Nq, D)
                        fa::hbm<const float> k,     // (B, H, Nk, D)
                        fa::hbm<const float> v,     // (B, H, Nk, D)
                        fa::hbm<const float> out,   // (B, H, Nq, D), of the forward pass
                        fa::hbm<const float> m,     // (B, H, Nq), of the forward pass
                        fa::hbm<const float> l,     // (B, H, Nq), of the forward pass
                        fa::hbm<const float> dout,  // (B, H, Nq, D)
                        fa::hbm<float> dq,          // (B, H, Nq, D)
                        fa::hbm<float> dk,          // (B, H, Nk, D)
                        fa::hbm<float> dv,          // (B, H, Nk, D)
                        const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram) {
  fa::validate(shape, options);
  fa::validate(tiles);
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("m", m.size(), fa::query_rows(shape));
  fa::require_elements("l", l.size(), fa::query_rows(shape));
  fa::require_elements("dout", dout.size(), fa::query_elements(shape));
  fa::require_elements("dq", dq.size(), fa::query_elements(shape));
  fa::require_elements("dk", dk.size(), fa::key_elements(shape));
  fa::require_elements("dv", dv.size(), fa::key_elements(shape));

  const auto& [B, H, Nq, Nk, D] = shape;
  const auto& [Br, Bc] = tiles;
  const float scale = fa::scale_of(shape, options);
  auto q_tile = sram.allocate<float>("q_tile", Br * D);
  auto out_tile = sram.allocate<float>("out_tile", Br * D);
  auto dout_tile = sram.allocate<float>("dout_tile", Br * D);
  auto dq_tile = sram.allocate<float>("dq_tile", Br * D);
  auto k_tile = sram.allocate<float>("k_tile", Bc * D);
  auto v_tile = sram.allocate<float>("v_tile", Bc * D);
  auto dk_tile = sram.allocate<float>("dk_tile", Bc * D);
  auto dv_tile = sram.allocate<float>("dv_tile", Bc * D);
  auto p_tile = sram.allocate<float>("p_tile", Br * Bc);
  auto m_tile = sram.allocate<float>("m_tile", Br);
  auto l_tile = sram.allocate<float>("l_tile", Br);

  // TODO begin
  // For each head: initialize dq. For each K/V tile: load it, start its dk and dv; for each Q tile that sees it: load
  // the rows of q, out, dout, dq, m and l, go through them with steps 2 and 3, store dq. Then store dk and dv.
  fa::todo("Step 4: the loops, K/V tiles outside");
  // TODO end
}

fa::Traffic backward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles) {
  fa::validate(shape, options);
  fa::validate(tiles);

  // TODO begin
  fa::todo("Step 5: the traffic as a formula");
  // TODO end
}

}  // namespace lesson
