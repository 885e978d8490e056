// What kernels on tensor cores use beyond fa/device.h. A GPU needs compute capability 8.0 (sm_80) or more. In shared
// memory, vectors, copies and matrices want fa::DynamicShared: its arrays begin at multiples of 16 bytes, and of 32, as
// fragments want it, where the arrays before take multiples of 32.
//
// Asynchronous copies, CUDA's own (<cuda_pipeline_primitives.h>): from HBM to shared memory, past the registers
//
//   __pipeline_memcpy_async(&tile[r][c], k + at, 16);
//     4, 8 or 16 bytes; both addresses are multiples of that. Nobody may touch the elements until they have arrived.
//   __pipeline_memcpy_async(&tile[r][c], k + at, 16, zeros);
//     The last `zeros` bytes become 0 and are not read from HBM.
//   __pipeline_commit();
//     What this thread has issued since its last commit is a batch.
//   __pipeline_wait_prior(n);
//     Waits for all batches of this thread but the latest n. Other threads need a barrier after that.
//
// Several neighbors with one instruction, 4, 8 or 16 bytes together, at an address that is a multiple of that
//
//   fa::Vector<float, 4> x = fa::load<4>(q + at);       from HBM, or from &tile[r][c]; x[0], ..., x[3]
//   fa::store(out + at, x);                             to HBM, or to &tile[r][c]
//
// Matrix products by a whole warp, CUDA's own (<mma.h>, namespace nvcuda::wmma); T is fa::half or fa::bfloat16
//
//   wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;       or matrix_b, or col_major
//   wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
//     Each lane holds a part of the matrix: c.x[i], i < c.num_elements. Which part, nobody says.
//   wmma::fill_fragment(c, 0.0f);
//   wmma::load_matrix_sync(a, &tile[r][c], ld);         from shared memory, or from HBM: q + at
//   wmma::mma_sync(c, a, b, c);                         c = a b + c
//   wmma::store_matrix_sync(&tile[r][c], c, ld, wmma::mem_row_major);
//     ld: elements from one row to the next, or from one column to the next where the matrix is col_major; a multiple
//     of 16 bytes. The address is a multiple of 32 bytes.
//
// The same with parts that are known, so that sums may stay in registers: the instruction mma.m16n8k16. With g = lane /
// 4 and t = lane % 4, a lane holds
//
//   fa::mma::A<T> a;              (16, 16)  pair[0]: row g, columns 2t and 2t + 1; pair[1]: row g + 8; pair[2] and
//                                           pair[3]: the same, 8 columns on
//   fa::mma::B<T> b;              (16, 8)   pair[0]: rows 2t and 2t + 1, column g; pair[1]: 8 rows on
//   fa::mma::Accumulator c;       (16, 8)   x[0], x[1]: row g, columns 2t and 2t + 1; x[2], x[3]: row g + 8
//
//   fa::mma::multiply(c, a, b);                   c = a b + c
//   fa::mma::pack<T>(low, high)                   two numbers, rounded, as a pair; low is the first row or column
//   fa::mma::load(a, tile, row, col);             rows row to row + 15 and columns col to col + 15 of the tile
//   fa::mma::load_columns(b, tile, row, col);     two of B: a row of the same part is a column, the first 8 of b[0]
//   fa::mma::load_rows(b, tile, row, col);        two of B: of the same part, columns col to col + 7 are b[0]
//     The tile is an fa::SharedMatrix<T> whose rows begin at multiples of 16 bytes.
//
//   fa::exp2_fast(x)              2^x, wrong by at most 2 units in the last place; a result below 2^-126 is 0

#pragma once

#include "fa/device.h"  // IWYU pragma: export
#include "fa/half.h"    // IWYU pragma: export

#ifdef FA_CUDA
#include "cuda/tensor_core.h"  // IWYU pragma: export
#else
#include "simt/tensor_core.h"  // IWYU pragma: export
#endif
