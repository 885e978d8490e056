// What kernels on tensor cores use beyond fa/device.h. A GPU needs compute capability 8.0 (sm_80) or more.
//
// Asynchronous copies, CUDA's own (<cuda_pipeline.h>): from HBM to shared memory, past the registers
//
//   __pipeline_memcpy_async(&tile[r][c], k + at, 16);
//     4, 8 or 16 bytes; both addresses are multiples of that. Until the copy has arrived, nobody may touch those
//     elements.
//   __pipeline_memcpy_async(&tile[r][c], k + at, 16, zeros);
//     The last `zeros` bytes become 0 and are not read from HBM.
//   __pipeline_commit();          what this thread has issued since the last commit is a batch
//   __pipeline_wait_prior(n);     waits for all batches of this thread but the latest n. A barrier, and all threads see
//   them.
//
// Several neighbors with one instruction, of 4, 8 or 16 bytes together, at an address that is a multiple of that
//
//   fa::Vector<float, 4> x = fa::load<4>(q + at);       from HBM, or from &tile[r][c]; x[0], ..., x[3]
//   fa::store(out + at, x);                             to HBM, or to &tile[r][c]
//
// Matrix products by a whole warp, CUDA's own (<mma.h>); T is fa::half or fa::bfloat16
//
//   nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, T, nvcuda::wmma::row_major> a;      or matrix_b;
//   col_major nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
//     Each lane holds a part of the matrix: sum.x[i], i < sum.num_elements. Which part, nobody says.
//   nvcuda::wmma::fill_fragment(sum, 0.0f);
//   nvcuda::wmma::load_matrix_sync(a, &tile[r][c], ld);           from shared memory, or from HBM: q + at
//   nvcuda::wmma::mma_sync(sum, a, b, sum);                       sum = a b + sum
//   nvcuda::wmma::store_matrix_sync(&tile[r][c], sum, ld, nvcuda::wmma::mem_row_major);
//     ld: elements from one row to the next (of a col_major one: from one column). It is a multiple of 16 bytes, and
//     the address one of 32.
//
// The same, with parts that are known, so that sums may stay in registers: the instruction m16n8k16. With g = lane / 4
// and t = lane % 4, a lane holds
//
//   fa::mma::A<T> a;              (16, 16): pair[0] = row g, columns 2t and 2t + 1; pair[1]: row g + 8;
//                                 pair[2] and pair[3]: the same, 8 columns on
//   fa::mma::B<T> b;              (16, 8):  pair[0] = rows 2t and 2t + 1, column g; pair[1]: 8 rows on
//   fa::mma::Accumulator c;       (16, 8):  x[0], x[1] = row g, columns 2t and 2t + 1; x[2], x[3]: row g + 8
//   fa::mma::multiply(c, a, b);                         c = a b + c
//   fa::mma::pack<T>(low, high)                         two numbers as a pair: low is the first row or column
//   fa::mma::load(a, tile, row, col);                   a = rows row, ..., row + 15, columns col, ..., col + 15 of the
//   tile fa::mma::load_columns(b, tile, row, col);           of the same part: rows are the columns of b[0] and b[1]
//   fa::mma::load_rows(b, tile, row, col);              of the same part: columns col, ..., col + 7 are b[0], the rest
//   b[1]
//     The tile is an fa::SharedMatrix<T>, whose rows begin at multiples of 16 bytes.
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
