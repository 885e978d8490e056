// Lesson 06: FlashAttention V1 in CUDA, forward pass, float. The contract of
// exercises/06_flash_v1/attention_forward.cu.
//
// K/V tiles outside, Q tiles inside, one block for each (batch, head). out, m and l live in HBM and are normalized
// after every K/V tile: when the tiles up to key j have passed, they hold the attention over the keys before j,
// exactly.
//
//   m' = max(m, max_j s_j)    l' = e^(m − m') l + Σ_j e^(s_j − m')
//   out' = (e^(m − m') l / l') out + (1 / l') Σ_j e^(s_j − m') v_j
//
// Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135), Algorithm 1.
//
// Promises, besides those of lesson 04 (masks, NaN, −inf, scores of any size, any tiles, m and l of the whole row):
//   - HBM sees exactly fa::v1_forward_traffic(shape, options, tiles): lesson 04's formula.
//   - A block uses exactly shared_memory_bytes(tiles, D) of shared memory.
//   - No memory is allocated, and the same inputs give the same bits, on every run.
//
// All of it holds as long as finite operands give scores, and weighted sums of v, that are finite in float, term by
// term: a tile's sum is divided by l' at its end only, so it may be Bc times as large as v.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects, an H above 65535, a negative first_tile, and an operand of another size; with
// std::length_error tiles that do not fit into the shared memory of a block, with both sizes.

#pragma once

#include "fa/device.h"
#include "fa/shape.h"

namespace lesson {

// Step 1. Bytes of shared memory for a pair of tiles, in float: the tiles of q (Br, D + 1), of k and v (Bc, D + 1), S
// (Br, Bc + 1), and three rows of Br: m', and the weights of the old out and of the tile. Each is rounded up to a
// multiple of 16 (fa::shared_bytes).
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);

// Step 2. The state of rows that have seen no key: out = 0, m = −inf, l = 0.
void initialize(fa::DeviceBuffer<float>& out,  // (B, H, Nq, D)
                fa::DeviceBuffer<float>& m,    // (B, H, Nq)
                fa::DeviceBuffer<float>& l,    // (B, H, Nq)
                const fa::Shape& shape);

// Steps 3 to 6. Absorbs the K/V tiles first_tile, first_tile + 1, ... end_tile − 1 into the state in HBM. Tile t holds
// the keys from t · Bc on; what lies past Nk is nothing. So V1 can stop after any tile, and go on in another launch.
void absorb_tiles(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                  const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                  const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                  fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                  fa::DeviceBuffer<float>& m,        // (B, H, Nq)
                  fa::DeviceBuffer<float>& l,        // (B, H, Nq)
                  const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile,
                  fa::Index end_tile);

// The whole: initialize, then all tiles in one launch.
// [signature]
void attention_forward(const fa::DeviceBuffer<float>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<float>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<float>& out,      // (B, H, Nq, D)
                       fa::DeviceBuffer<float>& m,        // (B, H, Nq)
                       fa::DeviceBuffer<float>& l,        // (B, H, Nq)
                       const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);
// [/signature]

}  // namespace lesson
