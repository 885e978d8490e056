// The ten kernels of the lab: what each of them computes. Row-major, contiguous, in float.
//
// All extents may be 0 or more, and multiples of nothing. Throws std::invalid_argument, before anything is written, if
// a buffer has another number of elements than its shape says. Each writes all elements of its output.

#pragma once

#include "fa/device.h"
#include "fa/shape.h"

namespace lesson {

// How many tiles of `size` elements cover `extent` elements.
constexpr fa::Index tiles_of(fa::Index extent, fa::Index size) { return (extent + size - 1) / size; }

// 01: delta_i = Σ_d dout_id out_id, which the backward pass needs (arXiv:2205.14135, Algorithm 4, line 19).
void output_delta(const fa::DeviceBuffer<float>& dout,  // (rows, D)
                  const fa::DeviceBuffer<float>& out,   // (rows, D)
                  fa::DeviceBuffer<float>& delta,       // (rows)
                  fa::Index rows, fa::Index D);

// 02: s_ij = scale Σ_d q_id k_jd. Whole rows of q and k are kept in shared memory: D must leave room for 64 of them.
void scores_whole_rows(const fa::DeviceBuffer<float>& q,  // (Nq, D)
                       const fa::DeviceBuffer<float>& k,  // (Nk, D)
                       fa::DeviceBuffer<float>& s,        // (Nq, Nk)
                       fa::Index Nq, fa::Index Nk, fa::Index D, float scale);

// 03: l_i = Σ_j e^(s_ij − m_i), with a block for each row. m_i is at least the largest score of the row.
void normalizer(const fa::DeviceBuffer<float>& s,  // (rows, columns)
                const fa::DeviceBuffer<float>& m,  // (rows)
                fa::DeviceBuffer<float>& l,        // (rows)
                fa::Index rows, fa::Index columns);

// 04: m_i = max_j s_ij, with a warp for each row. A row without columns has m = −inf.
void row_maximum(const fa::DeviceBuffer<float>& s,  // (rows, columns)
                 fa::DeviceBuffer<float>& m,        // (rows)
                 fa::Index rows, fa::Index columns);

// 05: dv_jd += Σ_i p_ij dout_id. Adds to what dv holds, so the caller has set it, to zeros say.
void value_gradient(const fa::DeviceBuffer<float>& p,     // (Nq, Nk)
                    const fa::DeviceBuffer<float>& dout,  // (Nq, D)
                    fa::DeviceBuffer<float>& dv,          // (Nk, D)
                    fa::Index Nq, fa::Index Nk, fa::Index D);

// 06: out_id = Σ_j p_ij v_jd.
void output(const fa::DeviceBuffer<float>& p,  // (Nq, Nk)
            const fa::DeviceBuffer<float>& v,  // (Nk, D)
            fa::DeviceBuffer<float>& out,      // (Nq, D)
            fa::Index Nq, fa::Index Nk, fa::Index D);

// 07: s_ij = scale Σ_d q_id k_jd, as 02, for any D: q and k pass through shared memory in slices of 32 columns.
void scores_in_slices(const fa::DeviceBuffer<float>& q,  // (Nq, D)
                      const fa::DeviceBuffer<float>& k,  // (Nk, D)
                      fa::DeviceBuffer<float>& s,        // (Nq, Nk)
                      fa::Index Nq, fa::Index Nk, fa::Index D, float scale);

// 08: k_t = Kᵀ. Reads each element once and writes it once; in HBM, a warp moves whole sectors of 32 bytes.
void key_transpose(const fa::DeviceBuffer<float>& k,  // (Nk, D)
                   fa::DeviceBuffer<float>& k_t,      // (D, Nk)
                   fa::Index Nk, fa::Index D);

// 09: the state (m, l) of the online softmax for each row: m_i = max_j s_ij, l_i = Σ_j e^(s_ij − m_i). Reads each score
// once, in whole sectors, and has no bank conflicts in shared memory. A score of −inf weighs nothing.
void row_state(const fa::DeviceBuffer<float>& s,  // (rows, columns)
               fa::DeviceBuffer<float>& m,        // (rows)
               fa::DeviceBuffer<float>& l,        // (rows)
               fa::Index rows, fa::Index columns);

// 10: out_d = Σ_j p_j v_jd for one query of each head, as in decoding, with D = 64. While a tile of v is used, the next
// one is on its way.
void weighted_values(const fa::DeviceBuffer<float>& p,  // (heads, Nk)
                     const fa::DeviceBuffer<float>& v,  // (heads, Nk, 64)
                     fa::DeviceBuffer<float>& out,      // (heads, 64)
                     fa::Index heads, fa::Index Nk);

}  // namespace lesson
