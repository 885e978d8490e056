// The oracle: attention forward and backward in double precision, written as the formulas read. It is slow, keeps
// everything, and is what every other implementation in the course is compared with.

#pragma once

#include <limits>
#include <span>
#include <vector>

#include "fa/shape.h"

namespace fa {

inline constexpr double negative_infinity = -std::numeric_limits<double>::infinity();

// For each query i of each head, over the keys j that it sees:
//   s_ij = scale · Σ_d q_id k_jd      m_i = max_j s_ij      l_i = Σ_j e^(s_ij − m_i)
//   p_ij = e^(s_ij − m_i) / l_i       out_id = Σ_j p_ij v_jd      lse_i = m_i + ln l_i
// A row that sees no key, or only scores of −inf, has weights of 0: out = 0 where the values are finite, m = −inf, l =
// 0, lse = −inf. A NaN or a score of +inf makes its row NaN, as IEEE arithmetic says.
struct ForwardOracle {
  std::vector<double> out;        // (B, H, Nq, D)
  std::vector<double> m, l, lse;  // (B, H, Nq)
};

// Given dout, the gradient of a loss by out (Dao et al. 2022, section 3.1 and appendix B.2):
//   dv_j = Σ_i p_ij dout_i          dp_ij = dout_i · v_j      delta_i = Σ_d dout_id out_id
//   ds_ij = p_ij (dp_ij − delta_i)  dq_i = scale Σ_j ds_ij k_j      dk_j = scale Σ_i ds_ij q_i
struct BackwardOracle {
  std::vector<double> dq;      // (B, H, Nq, D)
  std::vector<double> dk, dv;  // (B, H, Nk, D)
};

// All throw std::invalid_argument for a shape or options that fa::validate rejects, and for an operand of another
// size.
ForwardOracle attention_forward_oracle(std::span<const float> q,  // (B, H, Nq, D)
                                       std::span<const float> k,  // (B, H, Nk, D)
                                       std::span<const float> v,  // (B, H, Nk, D)
                                       const Shape& shape, const Options& options);

// The same of doubles. A check of gradients moves an operand by a step that a float cannot hold.
ForwardOracle attention_forward_oracle(std::span<const double> q,  // (B, H, Nq, D)
                                       std::span<const double> k,  // (B, H, Nk, D)
                                       std::span<const double> v,  // (B, H, Nk, D)
                                       const Shape& shape, const Options& options);

BackwardOracle attention_backward_oracle(std::span<const float> q,     // (B, H, Nq, D)
                                         std::span<const float> k,     // (B, H, Nk, D)
                                         std::span<const float> v,     // (B, H, Nk, D)
                                         std::span<const float> dout,  // (B, H, Nq, D)
                                         const Shape& shape, const Options& options);

}  // namespace fa
