// What lesson 04 is compared with. Given, nothing to do here.

#pragma once

#include "fa/hbm.h"
#include "fa/scratch.h"
#include "fa/shape.h"

namespace lesson {

// Standard attention on metered memory, as three kernels:
//
//   S = scale · Q Kᵀ      P = softmax(S), row by row      out = P V
//
// Each kernel touches each of its operands exactly once: fa::standard_forward_traffic. That is generous: it grants each
// kernel an SRAM that holds Q, K or V of a head, or a row of S, whatever N is. Real tiled products read Q, K and V more
// than once.
//
// Masks, NaN, −inf and what is rejected: as in lesson 01. S and P come from `scratch`, metered under the names "S" and
// "P". Source: Dao et al. 2022 (arXiv:2205.14135), Algorithm 0 and section 2.2.
void standard_attention(fa::hbm<const float> q,  // (B, H, Nq, D)
                        fa::hbm<const float> k,  // (B, H, Nk, D)
                        fa::hbm<const float> v,  // (B, H, Nk, D)
                        fa::hbm<float> out,      // (B, H, Nq, D)
                        const fa::Shape& shape, const fa::Options& options, fa::TrafficMeter& meter,
                        fa::Scratch& scratch);

// The tiles for lesson 03's loop order and an SRAM of `sram_bytes`: choose_tiles with the roles of Br and Bc exchanged,
// since it is the number of Q tiles that decides how often K and V are read. Lesson 03 needs the same bytes: u in place
// of out. Rejects what choose_tiles rejects.
fa::Tiles choose_v2_tiles(fa::Index sram_bytes, fa::Index D);

}  // namespace lesson
