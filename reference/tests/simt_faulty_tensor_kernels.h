// Faults of asynchronous copies, vectors and matrix operations, as in simt_faulty_kernels.h.

#pragma once

#include "fa/tensor_core.h"

namespace {

namespace wmma = nvcuda::wmma;

// [copy-in-flight]
__global__ void next_tile_kernel(fa::hbm<const float> k, fa::hbm<float> out, int wait_prior) {
  __shared__ fa::shared<float, 2, 128> k_tile;
  const int i = 4 * int(threadIdx.x);
  __pipeline_memcpy_async(&k_tile[0][i], k + i, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&k_tile[1][i], k + 128 + i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(std::size_t(wait_prior));
  out[int(threadIdx.x)] = k_tile[0][i];
}
const char* const next_tile_fault = R"(
shared memory: k_tile[0][0] is read before an asynchronous copy into it has arrived
  in next_tile_kernel, block (0, 0, 0), thread (0, 0, 0)
  thread (0, 0, 0) issued the copy, in batch 1 of 2; no __pipeline_wait_prior there has waited for it)";
// [/copy-in-flight]

// [misaligned]
__global__ void row_kernel(fa::hbm<const float> q, fa::hbm<float> out, int D) {
  const fa::Vector<float, 4> first = fa::load<4>(q + int(threadIdx.x) * D);
  out[int(threadIdx.x)] = first[0];
}
const char* const row_fault = R"(
fa::load at q[33], which begins at byte 132: must be a multiple of 16
  in row_kernel, block (0, 0, 0), thread (1, 0, 0))";
// [/misaligned]

// [different-places]
__global__ void store_kernel(fa::hbm<float> s, float value) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, value);
  wmma::store_matrix_sync(s + int(threadIdx.x) * 16, sums, 16, wmma::mem_row_major);
}
const char* const store_fault = R"(
store_matrix_sync, at which the lanes of a warp name different places
  in store_kernel, block (0, 0, 0), thread (1, 0, 0)
  thread (0, 0, 0): s[0], ld = 16
  thread (1, 0, 0): s[16], ld = 16
  at simt_faulty_tensor_kernels.h:42)";
// [/different-places]

// [unset-fragment]
__global__ void product_kernel(fa::hbm<const fa::half> q, fa::hbm<const fa::half> k, fa::hbm<float> s) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, fa::half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, fa::half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::load_matrix_sync(a, q, 16);
  wmma::load_matrix_sync(b, k, 16);
  wmma::mma_sync(sums, a, b, sums);
  wmma::store_matrix_sync(s, sums, 16, wmma::mem_row_major);
}
const char* const product_fault = R"(
mma_sync with a fragment that nothing has set
  in product_kernel, block (0, 0, 0), thread (0, 0, 0)
  at simt_faulty_tensor_kernels.h:59; fill_fragment, load_matrix_sync and mma_sync set one)";
// [/unset-fragment]

}  // namespace
