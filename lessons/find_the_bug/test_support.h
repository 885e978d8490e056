// What the lab's tests share: inputs, one run of each kernel, and what must come out of it, in double precision.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "fa/testing.h"
#include "kernels.h"

namespace support {

using Values = std::vector<float>;
using Exact = std::vector<double>;

// Sums of up to a few hundred products of N(0, 1), in float.
inline constexpr fa::Tolerance kRounding{.absolute = 1e-4, .relative = 1e-5, .normwise = 1e-5};
inline constexpr fa::Tolerance kExactly{};

inline std::size_t at(fa::Index row, fa::Index column, fa::Index columns) {
  return std::size_t(row * columns + column);
}

// a b, with a of (n, inner), b of (inner, m).
inline Exact product(const Values& a, const Values& b, fa::Index n, fa::Index inner, fa::Index m) {
  Exact result(std::size_t(n * m), 0.0);
  for (fa::Index i = 0; i < n; ++i) {
    for (fa::Index e = 0; e < inner; ++e) {
      for (fa::Index j = 0; j < m; ++j) result[at(i, j, m)] += double(a[at(i, e, inner)]) * b[at(e, j, m)];
    }
  }
  return result;
}

inline Values transposed(const Values& a, fa::Index rows, fa::Index columns) {
  Values result(a.size());
  for (fa::Index i = 0; i < rows; ++i) {
    for (fa::Index j = 0; j < columns; ++j) result[at(j, i, rows)] = a[at(i, j, columns)];
  }
  return result;
}

// The largest of each row; −inf where there is none.
inline Values maxima(const Values& s, fa::Index rows, fa::Index columns) {
  Values result(std::size_t(rows), -fa::infinity);
  for (fa::Index i = 0; i < rows; ++i) {
    for (fa::Index j = 0; j < columns; ++j) {
      result[std::size_t(i)] = std::max(result[std::size_t(i)], s[at(i, j, columns)]);
    }
  }
  return result;
}

inline Exact normalizers(const Values& s, const Values& m, fa::Index rows, fa::Index columns) {
  Exact result(std::size_t(rows), 0.0);
  for (fa::Index i = 0; i < rows; ++i) {
    for (fa::Index j = 0; j < columns; ++j) {
      result[std::size_t(i)] += std::exp(double(s[at(i, j, columns)]) - m[std::size_t(i)]);
    }
  }
  return result;
}

inline Exact in_double(const Values& values) { return {values.begin(), values.end()}; }

// ---- The kernels

inline void check_output_delta(fa::Index rows, fa::Index D) {
  CAPTURE(rows, D);
  const Values dout_values = fa::normal_values(rows * D, 1), out_values = fa::normal_values(rows * D, 2);
  Exact expected(std::size_t(rows), 0.0);
  for (fa::Index e = 0; e < rows * D; ++e) {
    expected[std::size_t(e / D)] += double(dout_values[std::size_t(e)]) * out_values[std::size_t(e)];
  }
  const fa::DeviceBuffer<float> dout("dout", dout_values), out("out", out_values);
  fa::DeviceBuffer<float> delta("delta", rows);
  lesson::output_delta(dout, out, delta, rows, D);
  fa::check_close("delta", delta.to_host(), expected, {{"i", rows}}, kRounding);
}

// 02 and 07 compute the same.
template <class Scores>
void check_scores(Scores scores, fa::Index Nq, fa::Index Nk, fa::Index D) {
  CAPTURE(Nq, Nk, D);
  const Values q_values = fa::normal_values(Nq * D, 1), k_values = fa::normal_values(Nk * D, 2);
  Exact expected = product(q_values, transposed(k_values, Nk, D), Nq, D, Nk);
  for (double& score : expected) score *= 0.25;
  const fa::DeviceBuffer<float> q("q", q_values), k("k", k_values);
  fa::DeviceBuffer<float> s("s", Nq * Nk);
  scores(q, k, s, Nq, Nk, D, 0.25f);
  fa::check_close("s", s.to_host(), expected, {{"i", Nq}, {"j", Nk}}, kRounding);
}

inline void check_normalizer(fa::Index rows, fa::Index columns) {
  CAPTURE(rows, columns);
  const Values s_values = fa::normal_values(rows * columns, 1), m_values = maxima(s_values, rows, columns);
  const fa::DeviceBuffer<float> s("s", s_values), m("m", m_values);
  fa::DeviceBuffer<float> l("l", rows);
  lesson::normalizer(s, m, l, rows, columns);
  fa::check_close("l", l.to_host(), normalizers(s_values, m_values, rows, columns), {{"i", rows}}, kRounding);
}

inline void check_row_maximum(fa::Index rows, fa::Index columns) {
  CAPTURE(rows, columns);
  const Values s_values = fa::normal_values(rows * columns, 1);
  const fa::DeviceBuffer<float> s("s", s_values);
  fa::DeviceBuffer<float> m("m", rows);
  lesson::row_maximum(s, m, rows, columns);
  fa::check_close("m", m.to_host(), in_double(maxima(s_values, rows, columns)), {{"i", rows}}, kExactly);
}

inline void check_value_gradient(fa::Index Nq, fa::Index Nk, fa::Index D) {
  CAPTURE(Nq, Nk, D);
  const Values p_values = fa::normal_values(Nq * Nk, 1), dout_values = fa::normal_values(Nq * D, 2);
  Exact expected = product(transposed(p_values, Nq, Nk), dout_values, Nk, Nq, D);
  for (double& element : expected) element += 1.0;
  const fa::DeviceBuffer<float> p("p", p_values), dout("dout", dout_values);
  fa::DeviceBuffer<float> dv("dv", Values(std::size_t(Nk * D), 1.0f));
  lesson::value_gradient(p, dout, dv, Nq, Nk, D);
  fa::check_close("dv", dv.to_host(), expected, {{"j", Nk}, {"d", D}}, kRounding);
}

inline void check_output(fa::Index Nq, fa::Index Nk, fa::Index D) {
  CAPTURE(Nq, Nk, D);
  const Values p_values = fa::normal_values(Nq * Nk, 1), v_values = fa::normal_values(Nk * D, 2);
  const fa::DeviceBuffer<float> p("p", p_values), v("v", v_values);
  fa::DeviceBuffer<float> out("out", Nq * D);
  lesson::output(p, v, out, Nq, Nk, D);
  fa::check_close("out", out.to_host(), product(p_values, v_values, Nq, Nk, D), {{"i", Nq}, {"d", D}}, kRounding);
}

inline void check_key_transpose(fa::Index Nk, fa::Index D) {
  CAPTURE(Nk, D);
  const Values k_values = fa::normal_values(Nk * D, 1);
  const fa::DeviceBuffer<float> k("k", k_values);
  fa::DeviceBuffer<float> k_t("k_t", D * Nk);
  lesson::key_transpose(k, k_t, Nk, D);
  fa::check_close("k_t", k_t.to_host(), in_double(transposed(k_values, Nk, D)), {{"d", D}, {"j", Nk}}, kExactly);
}

inline void check_row_state(fa::Index rows, fa::Index columns) {
  CAPTURE(rows, columns);
  const Values s_values = fa::normal_values(rows * columns, 1), expected = maxima(s_values, rows, columns);
  const fa::DeviceBuffer<float> s("s", s_values);
  fa::DeviceBuffer<float> m("m", rows), l("l", rows);
  lesson::row_state(s, m, l, rows, columns);
  fa::check_close("m", m.to_host(), in_double(expected), {{"i", rows}}, kExactly);
  fa::check_close("l", l.to_host(), normalizers(s_values, expected, rows, columns), {{"i", rows}}, kRounding);
}

inline void check_weighted_values(fa::Index heads, fa::Index Nk) {
  CAPTURE(heads, Nk);
  const fa::Index D = 64;
  const Values p_values = fa::normal_values(heads * Nk, 1), v_values = fa::normal_values(heads * Nk * D, 2);
  Exact expected(std::size_t(heads * D), 0.0);
  for (fa::Index head = 0; head < heads; ++head) {
    for (fa::Index j = 0; j < Nk; ++j) {
      for (fa::Index d = 0; d < D; ++d) {
        expected[at(head, d, D)] += double(p_values[at(head, j, Nk)]) * v_values[at(head * Nk + j, d, D)];
      }
    }
  }
  const fa::DeviceBuffer<float> p("p", p_values), v("v", v_values);
  fa::DeviceBuffer<float> out("out", heads * D);
  lesson::weighted_values(p, v, out, heads, Nk);
  fa::check_close("out", out.to_host(), expected, {{"head", heads}, {"d", D}}, kRounding);
}

// ---- Counts

inline void require_counts() {
  if (!fa::counts_bytes) SKIP("a GPU does not count sectors and bank conflicts: the emulator does");
}

inline void check_count(std::string_view what, fa::Index expected, fa::Index got) {
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK(what << ": expected " << expected << ", got " << got);
  }
}

}  // namespace support
