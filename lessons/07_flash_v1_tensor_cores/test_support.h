// What the tests of lesson 07 share: operands on the device, runs of either kernel, and an exact state to compare with.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/half_accuracy.h"
#include "fa/testing.h"
#include "fa/traffic.h"

namespace support {

// attention_forward, or attention_forward_mma.
enum class Kernel { exercise, given };

// Calls it with each format as its template argument.
template <class Call>
void in_both_formats(Call call) {
  {
    INFO("T = fa::half");
    call.template operator()<fa::half>();
  }
  {
    INFO("T = fa::bfloat16");
    call.template operator()<fa::bfloat16>();
  }
}

// Numbers that T holds exactly.
template <class T>
std::vector<float> in_format(const std::vector<float>& values) {
  return fa::widened<T>(fa::rounded<T>(values));
}
template <class T>
fa::Inputs inputs_of(const fa::Inputs& any) {
  return {.q = in_format<T>(any.q), .k = in_format<T>(any.k), .v = in_format<T>(any.v), .dout = {}};
}
template <class T>
fa::Inputs inputs_of(const fa::Shape& shape, fa::InputKind kind = fa::InputKind::normal) {
  return inputs_of<T>(fa::make_inputs(shape, kind));
}

// What HBM holds of the result.
struct Result {
  std::vector<float> out, partial, m, l;

  std::vector<float> lse() const {
    std::vector<float> result;
    for (std::size_t row = 0; row < m.size(); ++row) result.push_back(m[row] + std::log(l[row]));
    return result;
  }
};

// All operands, in HBM; the outputs poisoned. `one_less` names an operand that lacks an element.
template <class T>
struct Operands {
  fa::Shape shape;
  fa::DeviceBuffer<T> q, k, v, out;
  fa::DeviceScratch scratch;
  lesson::State state;

  Operands(const fa::Inputs& inputs, const fa::Shape& of, std::string_view one_less = "")
      : shape(of),
        q("q", fa::rounded<T>(part(inputs.q, one_less == "q"))),
        k("k", fa::rounded<T>(part(inputs.k, one_less == "k"))),
        v("v", fa::rounded<T>(part(inputs.v, one_less == "v"))),
        out("out", fa::query_elements(of) - (one_less == "out")),
        state(scratch, of) {
    for (fa::DeviceBuffer<float>* buffer : {&state.partial, &state.m, &state.l}) {
      if (buffer->name() == one_less) *buffer = fa::DeviceBuffer<float>(buffer->name(), buffer->size() - 1);
    }
  }

  static std::span<const float> part(const std::vector<float>& values, bool one_less) {
    return std::span(values).first(values.size() - std::size_t{one_less});
  }

  // Makes up what the steps after `step` would have left in HBM, so that a kernel may read it.
  void begin_state(int step) {
    const auto fill = [](fa::DeviceBuffer<float>& buffer, float value) {
      buffer.from_host(std::vector<float>(std::size_t(buffer.size()), value));
    };
    if (step < 3) fill(state.m, 0.0f);
    if (step < 4) fill(state.l, 1.0f);
    if (step < 5) fill(state.partial, 0.0f);
  }

  void forward(Kernel kernel, const fa::Options& options, const fa::Tiles& tiles) {
    if (kernel == Kernel::exercise) {
      lesson::attention_forward(q, k, v, out, state, shape, options, tiles);
    } else {
      lesson::attention_forward_mma(q, k, v, out, state, shape, options, tiles);
    }
  }
  void absorb(const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile, fa::Index end_tile) {
    lesson::absorb_tiles(q, k, v, out, state, shape, options, tiles, first_tile, end_tile);
  }
  Result result() const {
    return {fa::widened<T>(out.to_host()), state.partial.to_host(), state.m.to_host(), state.l.to_host()};
  }
};

template <class T>
Result run(Kernel kernel, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
           const fa::Tiles& tiles) {
  Operands<T> operands(inputs, shape);
  operands.forward(kernel, options, tiles);
  return operands.result();
}

// The state of each row over the first `keys` keys, as far as it sees them, in double.
struct ExactState {
  std::vector<double> out, m, l;
};
inline ExactState exact_state(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                              fa::Index keys) {
  ExactState state;
  const double scale = double(fa::scale_of(shape, options));
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    const fa::Index head = row / shape.Nq;
    const fa::Index seen = std::min(keys, fa::visible_keys(shape, options, row % shape.Nq));
    const auto key = [&](fa::Index j, fa::Index d) { return std::size_t((head * shape.Nk + j) * shape.D + d); };
    std::vector<double> score;
    double m = fa::negative_infinity, l = 0.0;
    for (fa::Index j = 0; j < seen; ++j) {
      double dot = 0.0;
      for (fa::Index d = 0; d < shape.D; ++d) {
        dot += double(inputs.q[std::size_t(row * shape.D + d)]) * double(inputs.k[key(j, d)]);
      }
      score.push_back(scale * dot);
      m = std::max(m, score.back());
    }
    for (const double s : score) l += std::exp(s - m);
    for (fa::Index d = 0; d < shape.D; ++d) {
      double u = 0.0;
      for (fa::Index j = 0; j < seen; ++j) u += std::exp(score[std::size_t(j)] - m) * double(inputs.v[key(j, d)]);
      state.out.push_back(seen == 0 ? 0.0 : u / l);
    }
    state.m.push_back(m);
    state.l.push_back(l);
  }
  return state;
}

inline constexpr fa::Tolerance float_tolerance{.absolute = 2e-5, .relative = 2e-5, .normwise = 1e-5};

// Bytes are counted by the emulator. On a GPU, ./course profile 07 asks the hardware.
inline void require_counts() {
  if (!fa::counts_bytes) SKIP("a GPU does not count bytes: see ./course profile 07");
}

// `question`: what to ask if there are too few.
inline void check_bytes(std::string_view what, fa::Index expected, fa::Index got, const std::string& question = "") {
  if (got == expected) {
    SUCCEED();
  } else {
    const bool ask = got < expected && !question.empty();
    FAIL_CHECK(what << ": expected " << expected << " bytes, got " << got << (ask ? "\n" + question : ""));
  }
}

inline void check_traffic(std::string_view what, const fa::Traffic& expected, const fa::Traffic& got,
                          const std::string& question = "") {
  check_bytes(std::string(what) + ", read", expected.read_bytes, got.read_bytes, question);
  check_bytes(std::string(what) + ", written", expected.written_bytes, got.written_bytes, question);
}

// Fails unless all of the outputs are as they were before anybody wrote.
template <class T>
void check_unwritten(const Operands<T>& operands) {
  const Result got = operands.result();
  for (const auto& [name, values] : {std::pair{"out", &got.out}, std::pair{"partial", &got.partial},
                                     std::pair{"m", &got.m}, std::pair{"l", &got.l}}) {
    const auto written =
        std::find_if_not(values->begin(), values->end(), [](float value) { return fa::is_poison(value); });
    if (written != values->end()) FAIL_CHECK(name << " was written: " << *written);
  }
}

inline void check_same_bits(const Result& one, const Result& other) {
  CHECK(one.out == other.out);
  CHECK(one.m == other.m);
  CHECK(one.l == other.l);
}

}  // namespace support
