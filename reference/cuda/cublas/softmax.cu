// A block a row. A row is read twice, but it is short enough that the second time it comes from the SM's own cache:
// HBM sees one read and one write of each element.

#include <algorithm>

#include "cuda/cublas/softmax.h"

namespace fa {
namespace {

constexpr int warp_size = 32;
constexpr int most_threads = 1024;

// `width` elements that are loaded and stored by one instruction, of at most 16 bytes.
template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];
};

// The softmax of some scores, as far as it is known: their maximum, and the sum of e^(score − m).
struct State {
  float m = -INFINITY;
  float l = 0.0f;
};

// e^(score − m). A score of −inf weighs nothing, also when there is no other.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

__device__ State merge(const State& a, const State& b) {
  const float m = fmaxf(a.m, b.m);
  return m == -INFINITY ? State{m, a.l + b.l} : State{m, a.l * expf(a.m - m) + b.l * expf(b.m - m)};
}

// Of all threads of the warp, or of the block.
__device__ State merge_warp(State state) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) {
    const float m = __shfl_xor_sync(0xffff'ffff, state.m, lanes), l = __shfl_xor_sync(0xffff'ffff, state.l, lanes);
    state = merge(state, State{m, l});
  }
  return state;
}
__device__ State merge_block(State state) {
  __shared__ shared<float, 2, most_threads / warp_size> of_warp;
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size, warps = blockDim.x / warp_size;
  state = merge_warp(state);
  if (lane == 0) of_warp[0][warp] = state.m, of_warp[1][warp] = state.l;
  __syncthreads();
  return merge_warp(lane < warps ? State{of_warp[0][lane], of_warp[1][lane]} : State{});
}

template <class T, int width>
__global__ void softmax_kernel(hbm<T> s,  // (rows, Nk)
                               Index Nq, Index Nk, bool causal) {
  const Index row = blockIdx.x;
  const Index end = row % Nq + Nk - Nq + 1;
  const Index visible = causal ? (end < 0 ? 0 : end > Nk ? Nk : end) : Nk;
  auto* const packs = reinterpret_cast<Pack<T, width>*>(s + row * Nk);
  struct Scores {
    float values[width];
  };
  const auto load = [&](Index pack) {
    const Pack<T, width> stored = packs[pack];
    Scores scores;
    for (int at = 0; at < width; ++at) {
      scores.values[at] = pack * width + at < visible ? float(stored.values[at]) : -INFINITY;
    }
    return scores;
  };

  State state;
  for (Index pack = threadIdx.x; pack < Nk / width; pack += blockDim.x) {
    const Scores scores = load(pack);
    State of_pack;
    for (const float score : scores.values) of_pack.m = fmaxf(of_pack.m, score);
    for (const float score : scores.values) of_pack.l += weight(score, of_pack.m);
    state = merge(state, of_pack);
  }
  state = merge_block(state);

  const float inverse = state.l == 0.0f ? 0.0f : 1.0f / state.l;
  for (Index pack = threadIdx.x; pack < Nk / width; pack += blockDim.x) {
    const Scores scores = load(pack);
    Pack<T, width> weights;
    for (int at = 0; at < width; ++at) weights.values[at] = T(weight(scores.values[at], state.m) * inverse);
    packs[pack] = weights;
  }
}

// Threads enough for one pack each, in whole warps, as far as a block goes.
Index threads_for(Index packs) {
  return std::min<Index>(most_threads, (packs + warp_size - 1) / warp_size * warp_size);
}

}  // namespace

template <class T>
void softmax_in_place(hbm<T> s, const Shape& shape, const Options& options) {
  constexpr int width = 16 / sizeof(T);
  if (shape.Nk % width == 0) {
    launch<softmax_kernel<T, width>>({{query_rows(shape)}, {threads_for(shape.Nk / width)}}, s, shape.Nq, shape.Nk,
                                     options.causal);
  } else {
    launch<softmax_kernel<T, 1>>({{query_rows(shape)}, {threads_for(shape.Nk)}}, s, shape.Nq, shape.Nk, options.causal);
  }
}
template void softmax_in_place(hbm<float>, const Shape&, const Options&);
template void softmax_in_place(hbm<half>, const Shape&, const Options&);
template void softmax_in_place(hbm<bfloat16>, const Shape&, const Options&);

}  // namespace fa
