// What the tests of lesson 05 share: calls that take and return vectors, and messages that say which bytes are too
// many.

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"

namespace support {

inline const fa::Tolerance kExact{.absolute = 0, .relative = 0, .normwise = 0};
inline const fa::Tolerance kTight{.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6};

// [worked-example]
// One head, three queries and keys, D = 2, scale = 1. Query 2 has the scores 2, 1, 0.
inline const fa::Shape kExample{.Nq = 3, .Nk = 3, .D = 2};
inline const fa::Options kExampleOptions{.scale = 1.0f};
inline const fa::Inputs kExampleInputs{.q = {1, 0, 0, 1, 1, 1},     // (3, 2)
                                       .k = {2, 0, 0, 1, -1, 1},    // (3, 2)
                                       .v = {1, 10, 3, 20, 5, 30},  // (3, 2)
                                       .dout = {}};
// [/worked-example]

// ---- Softmax

inline std::vector<float> run_softmax(const std::vector<float>& scores, fa::Index rows, fa::Index columns) {
  const fa::DeviceBuffer<float> s("s", scores);
  fa::DeviceBuffer<float> p("p", rows * columns);
  lesson::softmax(s, p, {.Nq = rows, .Nk = columns});
  return p.to_host();
}

inline void check_softmax(const std::vector<float>& scores, const std::vector<double>& expected, fa::Index rows,
                          fa::Tolerance tolerance = kTight) {
  const fa::Index columns = fa::Index(scores.size()) / rows;
  fa::check_close("p", run_softmax(scores, rows, columns), expected, {{"row", rows}, {"j", columns}}, tolerance);
}

// Each row has one score that is not −inf, in a place of its own. A block has 8 rows, so the last one has 5.
inline void check_own_rows() {
  const std::size_t rows = 21, columns = 70;
  std::vector<float> s(rows * columns, -fa::infinity);
  std::vector<double> expected(s.size(), 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    s[row * columns + 3 * row] = float(row) - 7.0f;
    expected[row * columns + 3 * row] = 1.0;
  }
  check_softmax(s, expected, rows, kExact);
}

// One such value among 40 scores of 0, between two rows without it, on several lanes.
inline void check_row_of_nan(float value) {
  for (const std::size_t at : {0u, 1u, 31u, 32u, 39u}) {
    std::vector<float> scores(3 * 40, 0.0f);
    std::vector<double> expected(scores.size(), 1.0 / 40);
    scores[40 + at] = value;
    for (std::size_t j = 0; j < 40; ++j) expected[40 + j] = double(fa::nan);
    CAPTURE(value, at);
    check_softmax(scores, expected, 3);
  }
}

// A finite number that stands for −inf is a score like any other: two of them weigh the same, on one lane or on two,
// and beside −inf one takes all.
inline void check_low_scores() {
  for (const float low : {-2e6f, -2e9f, -2e30f, std::numeric_limits<float>::lowest()}) {
    CAPTURE(low);
    std::vector<float> beside_infinity(70, -fa::infinity);
    std::vector<double> takes_all(70, 0.0);
    beside_infinity[40] = low;
    takes_all[40] = 1.0;
    check_softmax({low, low}, {0.5, 0.5}, 1);
    check_softmax(std::vector<float>(70, low), std::vector<double>(70, 1.0 / 70), 1);
    check_softmax(beside_infinity, takes_all, 1, kExact);
  }
}

// Of scores that are moderate, so that no maximum is needed.
inline std::vector<double> exact_softmax(const std::vector<float>& scores, fa::Index rows) {
  const std::size_t columns = scores.size() / std::size_t(rows);
  std::vector<double> weights;
  for (const float score : scores) weights.push_back(std::exp(double(score)));
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    double l = 0.0;
    for (std::size_t j = 0; j < columns; ++j) l += weights[first + j];
    for (std::size_t j = 0; j < columns; ++j) weights[first + j] /= l;
  }
  return weights;
}

// ---- Product

inline std::vector<float> run_product(const std::vector<float>& weights, const std::vector<float>& values,
                                      const fa::Shape& shape, const fa::Options& options) {
  const fa::DeviceBuffer<float> p("p", weights), v("v", values);
  fa::DeviceBuffer<float> out("out", fa::query_elements(shape));
  lesson::product(p, v, out, shape, options);
  return out.to_host();
}

inline void check_product(const std::vector<float>& weights, const std::vector<float>& values,
                          const std::vector<double>& expected, const fa::Shape& shape, const fa::Options& options,
                          fa::Tolerance tolerance) {
  CAPTURE(shape, options);
  fa::check_close("out", run_product(weights, values, shape, options), expected,
                  {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}}, tolerance);
}

inline std::vector<double> exact_product(const std::vector<float>& weights, const std::vector<float>& values,
                                         const fa::Shape& shape) {
  std::vector<double> out;
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    for (fa::Index d = 0; d < shape.D; ++d) {
      double sum = 0.0;
      for (fa::Index j = 0; j < shape.Nk; ++j) {
        sum += double(weights[std::size_t(row * shape.Nk + j)]) *
               double(values[std::size_t((row / shape.Nq * shape.Nk + j) * shape.D + d)]);
      }
      out.push_back(sum);
    }
  }
  return out;
}

// An output that says where it belongs: out = 10000 head + 100 j + d, exactly, where j is the one key that i weighs.
inline void check_own_elements() {
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 66, .Nk = 40, .D = 35};
  std::vector<float> p(std::size_t(fa::score_elements(shape)), 0.0f), v;
  std::vector<double> expected;
  for (fa::Index head = 0; head < fa::heads(shape); ++head) {
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      for (fa::Index d = 0; d < shape.D; ++d) v.push_back(float(10000 * head + 100 * j + d));
    }
    for (fa::Index i = 0; i < shape.Nq; ++i) {
      const fa::Index j = (3 * i + head) % shape.Nk;
      p[std::size_t((head * shape.Nq + i) * shape.Nk + j)] = 1.0f;
      for (fa::Index d = 0; d < shape.D; ++d) expected.push_back(double(10000 * head + 100 * j + d));
    }
  }
  check_product(p, v, expected, shape, {}, kExact);
}

// Every query weighs key 0 alone, if it sees that. The value of one key is NaN: only queries that see it may tell. With
// as many keys as queries, with more, so that the rows of a
// block see one tile of keys or two, and with fewer, so that the first queries see none.
inline void check_hidden_values() {
  for (const fa::Shape& shape :
       {fa::Shape{.Nq = 40, .Nk = 40}, {.Nq = 40, .Nk = 50}, {.Nq = 40, .Nk = 72}, {.Nq = 72, .Nk = 40}}) {
    for (const fa::Index bad : {fa::Index{0}, shape.Nk - 5}) {
      CAPTURE(bad);
      std::vector<float> p(std::size_t(shape.Nq * shape.Nk), 0.0f), v(std::size_t(shape.Nk), 1.0f);
      v[std::size_t(bad)] = fa::nan;
      std::vector<double> expected;
      for (fa::Index i = 0; i < shape.Nq; ++i) {
        const fa::Index last = i + shape.Nk - shape.Nq;  // the last key that query i sees; none if negative
        if (last >= 0) p[std::size_t(i * shape.Nk)] = 1.0f;
        expected.push_back(last < 0 ? 0.0 : last < bad ? 1.0 : double(fa::nan));
      }
      check_product(p, v, expected, shape, {.causal = true}, kExact);
    }
  }
}

// ---- Bytes

inline void check_bytes(std::string_view what, fa::Index expected, fa::Index got) {
  if (got == expected) {
    SUCCEED();
  } else {
    FAIL_CHECK(what << ": expected " << expected << " bytes, got " << got);
  }
}

inline void check_traffic(std::string_view what, const fa::Traffic& expected, const fa::Traffic& got) {
  check_bytes(std::string(what) + ", read", expected.read_bytes, got.read_bytes);
  check_bytes(std::string(what) + ", written", expected.written_bytes, got.written_bytes);
}

#ifndef FA_CUDA  // a GPU does not count

// Sectors of 32 bytes that the last launch asked for. `read` and `written` are worked by hand.
inline void check_sectors(const fa::DeviceMeter& meter, fa::Index read, fa::Index written) {
  const auto& launch = meter.launches().back();
  const auto check = [&](const char* what, fa::Index expected, fa::Index got, fa::Index bytes) {
    if (got == expected) {
      SUCCEED();
    } else {
      FAIL_CHECK(launch.kernel << ": sectors " << what << ": expected " << expected << ", got " << got << ", for "
                               << bytes << " bytes. Do neighboring threads touch neighboring elements?");
    }
  };
  check("read", read, launch.read_sectors, launch.traffic.read_bytes);
  check("written", written, launch.written_sectors, launch.traffic.written_bytes);
}

#endif

}  // namespace support
