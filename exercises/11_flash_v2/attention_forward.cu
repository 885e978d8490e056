// FlashAttention-2, forward pass, in CUDA, float. Dao 2023 (arXiv:2307.08691), Algorithm 1.
//
// Against lesson 06 the loops change places. A block owns one Q tile of one head, so the grid has ⌈Nq / Br⌉ times as
// many blocks; m, l and u stay in registers while the K/V tiles pass, and HBM sees the result once, after one division.
// Besides, a thread computes a small tile of S and of u in place of single elements: what it loads from shared memory
// serves several multiplications.

#include <stdexcept>
#include <string>
#include <utility>

#include "attention_forward.h"

namespace lesson {
namespace {

constexpr int kRows = 4;   // rows of a thread: neighbors in the tile
constexpr int kLanes = 8;  // threads that share these rows, neighbors in a warp; each has every 8th column
constexpr int kThreads = Br / kRows * kLanes;
constexpr int kScores = Bc / kLanes;  // scores of a thread in a row
constexpr unsigned kAllLanes = 0xffff'ffff;

constexpr fa::Index ceil_div(fa::Index a, fa::Index b) { return (a + b - 1) / b; }

// e^(score − m), for m ≥ score. A score of −inf weighs 0 even if m is −inf too: −inf − −inf would be NaN.
__device__ float weight(float score, float m) { return score == -INFINITY ? 0.0f : expf(score - m); }

// How many keys query i sees. They are always the first ones.
__device__ fa::Index visible_keys(fa::Index i, fa::Index Nq, fa::Index Nk, bool causal) {
  return causal ? max(fa::Index{0}, min(Nk, i + Nk - Nq + 1)) : Nk;
}

// Copies rows first, first + 1, ... of `matrix` into `tile`. What lies outside of the matrix becomes 0.
template <int Rows, int Columns>
__device__ void load_tile(fa::SharedMatrix<float> tile,  // (Rows, Columns), and a column of padding
                          fa::hbm<const float> matrix,   // (N, D)
                          fa::Index first, fa::Index N, int D) {
  // TODO begin
  fa::todo("Step 3a: load a tile");
  // TODO end
}

template <int Columns>  // padded_columns(D)
__global__ void __launch_bounds__(kThreads)
    attention_forward_kernel(fa::hbm<const float> q,  // (B, H, Nq, D)
                             fa::hbm<const float> k,  // (B, H, Nk, D)
                             fa::hbm<const float> v,  // (B, H, Nk, D)
                             fa::hbm<float> out,      // (B, H, Nq, D)
                             fa::hbm<float> lse,      // (B, H, Nq)
                             fa::Index Nq, fa::Index Nk, int D, float scale, bool causal) {
  fa::DynamicShared memory;
  const auto q_tile = memory.matrix<float>("q_tile", Br, Columns + 1);
  const auto k_tile = memory.matrix<float>("k_tile", Bc, Columns + 1);
  const auto v_tile = memory.matrix<float>("v_tile", Bc, Columns + 1);
  const auto p_tile = memory.matrix<float>("p_tile", Br, Bc + 1);

  // TODO begin
  fa::todo("Step 2a: which queries, which head");
  const fa::Index i = 0, head = 0;
  // TODO end
  q = q + head * Nq * D, out = out + head * Nq * D, lse = lse + head * Nq;
  k = k + head * Nk * D, v = v + head * Nk * D;

  constexpr int kValues = Columns / kLanes;                 // values of a thread in a row of u
  const int first_row = int(threadIdx.x) / kLanes * kRows;  // rows first_row, first_row + 1, ...
  const int lane = int(threadIdx.x) % kLanes;               // columns lane, lane + 8, ...

  // The state of lesson 02, in registers. All 8 threads of a row agree on m. Each has the l of its own keys, and the u
  // of its own columns.
  float m[kRows], l[kRows], u[kRows][kValues];

  // TODO begin
  fa::todo("Step 2b: no key seen yet");
  // TODO end

  // TODO begin
  if (Nk > 0) fa::todo("Step 3b: load the tile of Q, find out how many keys are seen");  // without keys step 2 works
  const fa::Index seen_by_first = 0, seen_by_last = 0;
  // TODO end

  for (fa::Index j = 0; j < seen_by_last; j += Bc) {
    // TODO begin
    fa::todo("Step 3c: load a tile of K and V");
    // TODO end

    // TODO begin
    fa::todo("Step 4a: scores");
    // TODO end

    // TODO begin
    fa::todo("Step 4b: the keys that a row sees");
    // TODO end

    // TODO begin
    fa::todo("Step 4c: the new maximum, the weights");
    // TODO end

    // TODO begin
    // Step 5a: u += P V. Nothing stops the kernel here, so that step 4 can be checked: lse needs no u.
    // TODO end
  }

  // TODO begin
  fa::todo("Step 2c: the sum of l, and lse");
  // TODO end

  // TODO begin
  __syncthreads();  // for the checks of steps 2 to 4: all threads have written lse before one stops here
  if (Nk > 0) fa::todo("Step 5b: the output");
  // TODO end
}

void validate(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k, const fa::DeviceBuffer<float>& v,
              const fa::DeviceBuffer<float>& out, const fa::DeviceBuffer<float>& lse, const fa::Shape& shape,
              const fa::Options& options) {
  fa::validate(shape, options);
  for (const auto& [name, blocks] : {std::pair{"B", shape.B}, std::pair{"H", shape.H}}) {
    if (blocks <= 65535) continue;
    throw std::invalid_argument(std::string(name) + " = " + std::to_string(blocks) +
                                ": must be at most 65535, for a grid");
  }
  if (shape.D > 128) throw std::invalid_argument("D = " + std::to_string(shape.D) + ": must be at most 128");
  fa::require_elements("q", q.size(), fa::query_elements(shape));
  fa::require_elements("k", k.size(), fa::key_elements(shape));
  fa::require_elements("v", v.size(), fa::key_elements(shape));
  fa::require_elements("out", out.size(), fa::query_elements(shape));
  fa::require_elements("lse", lse.size(), fa::query_rows(shape));

  const fa::Index asked = shared_memory_bytes(shape.D), limit = fa::device().shared_bytes_per_block;
  if (asked <= limit) return;
  throw std::length_error("shared memory: D = " + std::to_string(shape.D) + " needs " + std::to_string(asked) +
                          " bytes, but a block has " + std::to_string(limit) + " on this device");
}

}  // namespace

fa::Extents grid(const fa::Shape& shape) {
  // TODO begin
  fa::todo("Step 1a: the grid");
  // TODO end
}

fa::Index shared_memory_bytes(fa::Index D) {
  // TODO begin
  fa::todo("Step 1b: bytes of shared memory");
  // TODO end
}

void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& lse,
                       const fa::Shape& shape, const fa::Options& options) {
  validate(q, k, v, out, lse, shape, options);
  if (fa::query_rows(shape) == 0) return;  // a grid without blocks cannot be launched
  const fa::LaunchShape launch{grid(shape), {kThreads}, shared_memory_bytes(shape.D)};
  const auto run = [&]<int Columns>() {
    fa::launch<attention_forward_kernel<Columns>>(launch, q.data(), k.data(), v.data(), out.data(), lse.data(),
                                                  shape.Nq, shape.Nk, int(shape.D), fa::scale_of(shape, options),
                                                  options.causal);
  };
  switch (padded_columns(shape.D)) {
    case 32:
      return run.operator()<32>();
    case 64:
      return run.operator()<64>();
    default:
      return run.operator()<128>();
  }
}

}  // namespace lesson
