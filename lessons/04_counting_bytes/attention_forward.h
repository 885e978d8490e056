// Lesson 04: FlashAttention's own loop order, with every byte counted. The contract of
// exercises/04_counting_bytes/attention_forward.cpp.
//
// K/V tiles outside, Q tiles inside. out, m and l live in HBM and are normalized after every K/V tile: when the tiles
// up to key j have passed, they hold the attention over the keys before j, exactly.
//
//   m' = max(m, max_j s_j)    l' = e^(m − m') l + Σ_j e^(s_j − m')
//   out' = (e^(m − m') l / l') out + (1 / l') Σ_j e^(s_j − m') v_j
//
// Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135), Algorithm 1 and Theorem 2.
//
// Promises, besides those of lessons 01 and 03 (masks, NaN, −inf, scores of any size, any tiles):
//   - m and l, float, are those of the whole row: lse = m + ln l. A row that sees no key, or only scores of −inf, has
//     out = 0, m = −inf, l = 0.
//   - HBM sees exactly forward_traffic(shape, options, tiles): out, m and l are written once to initialize them; each
//     row of k and v is read once; and for each pair of tiles in which some query sees some key, the rows of q, out, m
//     and l are read and those of out, m and l are written.
//   - Working memory comes from `sram`: exactly tile_bytes(tiles, D) at its peak.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects and an operand of another size; with std::length_error tiles that do not fit into `sram`.

#pragma once

#include "fa/hbm.h"
#include "fa/scratch.h"
#include "fa/shape.h"
#include "fa/todo.h"

namespace lesson {

// Step 1. Bytes of SRAM that a pair of tiles needs, in float: the tiles of q and out (Br, D), of k and v (Bc, D), S
// (Br, Bc), and the rows of m and l (Br).
fa::Index tile_bytes(const fa::Tiles& tiles, fa::Index D);

// Step 2. The tiles for an SRAM of `sram_bytes`: Br = min(Bc, D), as in Algorithm 1, and the largest Bc for which
// everything fits. More keys a tile means fewer sweeps over out. Throws std::invalid_argument, naming the argument, for
// a D that fa::validate rejects, if not even Br = Bc = 1 fits, and for more than 128 MiB.
fa::Tiles choose_tiles(fa::Index sram_bytes, fa::Index D);

// Step 3.
// [signature]
void attention_forward(fa::hbm<const float> q,  // (B, H, Nq, D)
                       fa::hbm<const float> k,  // (B, H, Nk, D)
                       fa::hbm<const float> v,  // (B, H, Nk, D)
                       fa::hbm<float> out,      // (B, H, Nq, D)
                       fa::hbm<float> m,        // (B, H, Nq)
                       fa::hbm<float> l,        // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Scratch& sram);
// [/signature]

// Step 4. The bytes that step 3 moves through HBM, without running it. Throws std::invalid_argument for a shape,
// options or tiles that fa::validate rejects.
fa::Traffic forward_traffic(const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);

}  // namespace lesson
