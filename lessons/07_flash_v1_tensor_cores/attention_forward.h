// Lesson 07: FlashAttention V1 on tensor cores, forward pass, in half precision with sums in float. The contract of
// exercises/07_flash_v1_tensor_cores/attention_forward.cu, and of attention_forward_mma.cu, which is given.
//
// As in lesson 06, K/V tiles are outside and queries inside, a block owns one (batch, head), and the state lives in
// HBM: `partial`, m and l hold the attention over the keys before j, exactly, when the tiles up to key j have passed.
//
//   m' = max(m, max_j s_j)    l' = e^(m − m') l + Σ_j e^(s_j − m')
//   partial' = (e^(m − m') l / l') partial + (1 / l') Σ_j e^(s_j − m') v_j
//
// A block has a warp for each kRows of the Br queries that it works on at a time; the warp owns them. HBM sees less of
// the state than in lesson 06: the first K/V tile begins it and reads none, and the last one that a warp's queries see
// rounds the result to `out` and leaves `partial` alone.
//
// Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135), Algorithm 1. T is fa::half or fa::bfloat16.
//
// Promises, besides lesson 06's (masks, NaN, −inf, scores of any size, m and l of the whole row, the same bits on every
// run):
//   - Products are exact, as long as float can hold them; S, the weights' sums and P V are summed in float. Rounded to
//   T
//     are the weights, for P V, and out, at the end: nothing else.
//   - HBM sees exactly fa::v1_tensor_core_traffic(shape, options, {kRows, Bc}), whatever Br.
//   - A block uses exactly the shared memory that the function below says, and nothing is allocated.
//   - A key that a query does not see does not reach it, not even a NaN, although tensor cores multiply hidden keys.
//   - The error is at most twice that of standard attention in the same format, plus fa::accuracy_floor: over many
//     random numbers, as the tests draw them. Of a few, standard attention may be exact by chance.
//
// P V is summed before it is divided by l: Bc times the largest |v| must be finite in float, and for
// attention_forward_mma, which keeps the sum of a whole row undivided, Nk times. Weights are rounded and l is not, so
// out may exceed the largest |v| by u times itself: in fp16, values near 65,504 may give an infinity.
//
// Rejects, before anything is written: with std::invalid_argument, which names the argument, a shape, options or tiles
// that fa::validate rejects, an H above 65535, a D other than 64 and 128, a Br or Bc that is not as said below, a
// negative first_tile, and an operand of another size; with std::length_error tiles that do not fit into the shared
// memory of a block, with both sizes.

#pragma once

#include "fa/device.h"
#include "fa/half.h"
#include "fa/shape.h"

namespace lesson {

inline constexpr int kRows = 16;  // queries of a warp: the rows of a tensor core's tile

// Working memory in HBM: 4 · (D + 2) bytes for each query.
struct State {
  fa::DeviceBuffer<float> partial;  // (B, H, Nq, D)  out so far, not rounded
  fa::DeviceBuffer<float> m;        // (B, H, Nq)     the largest score so far
  fa::DeviceBuffer<float> l;        // (B, H, Nq)     the sum of e^(score − m) so far

  State(fa::DeviceScratch& scratch, const fa::Shape& shape)
      : partial(scratch.allocate<float>("partial", fa::query_elements(shape))),
        m(scratch.allocate<float>("m", fa::query_rows(shape))),
        l(scratch.allocate<float>("l", fa::query_rows(shape))) {}
};

// Step 1. Bytes of shared memory. In T: k and v (Bc, D + 8); q, then P, in one place (Br, max(Bc, D) + 8). In float: S,
// then P V, in one place (Br, max(Bc, D) + 4). Each is rounded up to a multiple of 16 (fa::shared_bytes).
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);

// Steps 2 to 5. Absorbs the K/V tiles first_tile, first_tile + 1, ... end_tile − 1. Tile t holds the keys from t · Bc
// on. Tile 0 is there even if Nk is 0; what lies past Nk otherwise is nothing. Br: a multiple of 16, at most 256. Bc: a
// multiple of 16.
template <fa::HalfPrecision T>
void absorb_tiles(const fa::DeviceBuffer<T>& q,  // (B, H, Nq, D)
                  const fa::DeviceBuffer<T>& k,  // (B, H, Nk, D)
                  const fa::DeviceBuffer<T>& v,  // (B, H, Nk, D)
                  fa::DeviceBuffer<T>& out,      // (B, H, Nq, D)
                  State& state, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles,
                  fa::Index first_tile, fa::Index end_tile);

// The whole: all tiles in one launch.
// [signature]
template <fa::HalfPrecision T>
void attention_forward(const fa::DeviceBuffer<T>& q,  // (B, H, Nq, D)
                       const fa::DeviceBuffer<T>& k,  // (B, H, Nk, D)
                       const fa::DeviceBuffer<T>& v,  // (B, H, Nk, D)
                       fa::DeviceBuffer<T>& out,      // (B, H, Nq, D)
                       State& state, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);
// [/signature]

// Given, in attention_forward_mma.cu: the same with S, P and the state of a warp's queries in registers. Of shared
// memory, only k and v (Bc, D + 8) are left. Br: a multiple of 16, at most 128. Bc: a multiple of 64.
fa::Index shared_memory_bytes_mma(const fa::Tiles& tiles, fa::Index D);

template <fa::HalfPrecision T>
void attention_forward_mma(const fa::DeviceBuffer<T>& q,  // (B, H, Nq, D)
                           const fa::DeviceBuffer<T>& k,  // (B, H, Nk, D)
                           const fa::DeviceBuffer<T>& v,  // (B, H, Nk, D)
                           fa::DeviceBuffer<T>& out,      // (B, H, Nq, D)
                           State& state, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles);

}  // namespace lesson
