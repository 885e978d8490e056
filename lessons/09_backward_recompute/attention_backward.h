// Lesson 09: the backward pass without P. It is recomputed tile by tile, from m and l, and every byte is counted. The
// contract of exercises/09_backward_recompute/attention_backward.cpp.
//
// K/V tiles outside, Q tiles inside. dk and dv of a K/V tile are summed up in SRAM and written once; dq lives in HBM
// and travels once per K/V tile. For each pair of tiles, over the pairs in which query i sees key j:
//
//   p_ij = e^(scale · q_i · k_j − m_i) / l_i      delta_i = dout_i · out_i      ds_ij = p_ij (dout_i · v_j − delta_i)
//   dv_j += Σ_i p_ij dout_i      dk_j += scale · Σ_i ds_ij q_i      dq_i += scale · Σ_j ds_ij k_j
//
// Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135), Algorithm 4 and appendix B.4.
//
// Promises, besides those of lessons 04 (any tiles) and 08 (masks, NaN, rows that see no key):
//   - m and l are those of a forward pass, of the whole row. A row with l = 0 has weights of 0.
//   - When the K/V tiles up to key j have passed, dq in HBM is the gradient over the keys before j, and dk and dv of
//     these keys are final. No gradient need hold anything before the call.
//   - HBM sees exactly backward_traffic(shape, options, tiles): dq is written once to initialize it; each row of k and
//     v is read once, each row of dk and dv is written once; and for each pair of tiles in which some query sees some
//     key, the rows of q, out, dout, dq, m and l are read and those of dq are written.
//   - Working memory comes from `sram`: exactly tile_bytes(tiles, D) at its peak. Nothing grows with N.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects and an operand of another size; with std::length_error tiles that do not fit into `sram`.

#pragma once

#include "fa/hbm.h"
#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. Bytes of SRAM that a pair of tiles needs, in float: the tiles of q, out, dout and dq (Br, D), of k, v, dk and
// dv (Bc, D), P (Br, Bc), and the rows of m and l (Br).
fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D);

// Step 2. A row of a tile of P: p_j = e^(scale · q · k_j − m) / l for the first `keys` keys of the tile. The others are
// hidden, or lie past the last key: p_j = 0, and the row of k is not used. If l is 0, all are 0.
void recompute_weights(const float* q_row,   // (D)
                       const float* k_tile,  // (columns, D)
                       float* p_row,         // (columns)
                       float m, float l, fa::Index keys, fa::Index columns, fa::Index D, float scale);

// Step 3. What one query adds to the gradients, over the first `keys` keys of the tile: dv_j += p_j dout, and with
// ds_j = p_j (dout · v_j − dout · out): dk_j += scale · ds_j q, dq += scale · Σ_j ds_j k_j.
void add_gradients(const float* q_row,     // (D)
                   const float* out_row,   // (D)
                   const float* dout_row,  // (D)
                   const float* k_tile,    // (keys, D)
                   const float* v_tile,    // (keys, D)
                   const float* p_row,     // (keys)
                   float* dq_row,          // (D)
                   float* dk_tile,         // (keys, D)
                   float* dv_tile,         // (keys, D)
                   fa::Index keys, fa::Index D, float scale);

// Step 4.
// [signature]
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
                        const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram);
// [/signature]

// Step 5. The bytes that step 4 moves through HBM, without running it. Throws std::invalid_argument for a shape,
// options or tiles that fa::validate rejects.
fa::Traffic backward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);

}  // namespace lesson
