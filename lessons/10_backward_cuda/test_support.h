// What the tests of lesson 10 share: operands on the device, runs, and the exact gradients to compare with.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_backward.h"
#include "fa/testing.h"

namespace support {

// Both ways round, dividing nothing, smaller and larger than what they cut; at D = 70 within the 64 KiB of a T4.
inline constexpr fa::Tiles tiles_that_fit[] = {{.Br = 3, .Bc = 5}, {.Br = 32, .Bc = 16}, {.Br = 40, .Bc = 24}};

// Tiles of one row make so many pairs that they are tried on a small shape only.
inline constexpr fa::Tiles smallest_tiles{.Br = 1, .Bc = 1};
inline constexpr fa::Shape small_shape{.B = 2, .H = 3, .Nq = 5, .Nk = 7, .D = 3};

inline std::vector<double> in_double(std::span<const float> values) { return {values.begin(), values.end()}; }

// What an exact forward pass leaves, rounded to float, and delta.
struct Forward {
  std::vector<float> out, m, l, delta;

  Forward() = default;
  Forward(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
    const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
    out.assign(oracle.out.begin(), oracle.out.end());
    m.assign(oracle.m.begin(), oracle.m.end());
    l.assign(oracle.l.begin(), oracle.l.end());
    for (std::size_t row = 0; row < m.size(); ++row) {
      double sum = 0.0;
      for (std::size_t e = row * std::size_t(shape.D); e < (row + 1) * std::size_t(shape.D); ++e) {
        sum += double(inputs.dout[e]) * oracle.out[e];
      }
      delta.push_back(float(sum));
    }
  }
};

struct Gradients {
  std::vector<float> dq, dk, dv;
};

// All operands, in HBM; the gradients and delta poisoned. `one_less` names an operand that lacks an element.
struct Operands {
  fa::Shape shape;
  fa::DeviceBuffer<float> q, k, v, out, m, l, dout, delta, dq, dk, dv;
  fa::DeviceScratch scratch;

  Operands(const fa::Inputs& inputs, const Forward& forward, const fa::Shape& of, std::string_view one_less = "")
      : shape(of),
        q("q", part(inputs.q, one_less == "q")),
        k("k", part(inputs.k, one_less == "k")),
        v("v", part(inputs.v, one_less == "v")),
        out("out", part(forward.out, one_less == "out")),
        m("m", part(forward.m, one_less == "m")),
        l("l", part(forward.l, one_less == "l")),
        dout("dout", part(inputs.dout, one_less == "dout")),
        delta("delta", fa::query_rows(of) - (one_less == "delta")),
        dq("dq", fa::query_elements(of) - (one_less == "dq")),
        dk("dk", fa::key_elements(of) - (one_less == "dk")),
        dv("dv", fa::key_elements(of) - (one_less == "dv")) {}

  static std::span<const float> part(const std::vector<float>& values, bool one_less) {
    return std::span(values).first(values.size() - std::size_t{one_less});
  }

  // As step 2 leaves them, but not by step 2.
  void set_prepared(const Forward& forward) {
    delta.from_host(forward.delta);
    dq.from_host(std::vector<float>(std::size_t(dq.size()), 0.0f));
  }
  void prepare() { lesson::prepare(out, dout, delta, dq, shape); }
  void absorb(const fa::Options& options, const fa::Tiles& tiles, fa::Index first_tile, fa::Index end_tile) {
    lesson::absorb_tiles(q, k, v, m, l, dout, delta, dq, dk, dv, shape, options, tiles, first_tile, end_tile);
  }
  void backward(const fa::Options& options, const fa::Tiles& tiles) {
    lesson::attention_backward(q, k, v, out, m, l, dout, dq, dk, dv, shape, options, tiles, scratch);
  }
  Gradients gradients() const { return {dq.to_host(), dk.to_host(), dv.to_host()}; }
};

inline Gradients run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options,
                     const fa::Tiles& tiles) {
  Operands operands(inputs, Forward(inputs, shape, options), shape);
  operands.backward(options, tiles);
  return operands.gradients();
}

// scale · Σ_j ds_ij k_j over the first `keys` keys, as far as query i sees them, while m, l and delta are those of all.
inline std::vector<double> query_gradient_over(const fa::Inputs& inputs, const fa::Shape& shape,
                                               const fa::Options& options, fa::Index keys) {
  const fa::ForwardOracle forward = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const double scale = double(fa::scale_of(shape, options));
  const auto D = std::size_t(shape.D);
  const auto dot = [D](const auto& a, std::size_t a_row, const auto& b, std::size_t b_row) {
    double sum = 0.0;
    for (std::size_t d = 0; d < D; ++d) sum += double(a[a_row * D + d]) * double(b[b_row * D + d]);
    return sum;
  };
  std::vector<double> dq(inputs.q.size(), 0.0);
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    const std::size_t i = std::size_t(row);
    const double delta = dot(inputs.dout, i, forward.out, i);
    const fa::Index seen = std::min(keys, fa::visible_keys(shape, options, row % shape.Nq));
    for (fa::Index j = 0; j < seen; ++j) {
      const std::size_t key = std::size_t(row / shape.Nq * shape.Nk + j);
      const double p = std::exp(scale * dot(inputs.q, i, inputs.k, key) - forward.lse[i]);
      const double ds = p * (dot(inputs.dout, i, inputs.v, key) - delta);
      for (std::size_t d = 0; d < D; ++d) dq[i * D + d] += scale * ds * double(inputs.k[key * D + d]);
    }
  }
  return dq;
}

// The oracle at one shape, for runs with any tiles.
class Expected {
 public:
  Expected(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options)
      : inputs_(inputs),
        shape_(shape),
        options_(options),
        forward_(inputs, shape, options),
        oracle_(fa::attention_backward_oracle(inputs.q, inputs.k, inputs.v, inputs.dout, shape, options)),
        tolerance_(fa::backward_tolerance(inputs.q, inputs.k, inputs.v, inputs.dout, oracle_, shape, options)) {}

  void check(const fa::Tiles& tiles) const {
    INFO(shape_ << ", " << options_ << ", " << tiles);
    Operands operands(inputs_, forward_, shape_);
    operands.backward(options_, tiles);
    check(operands.gradients());
  }
  void check(const Gradients& got) const {
    const fa::Extent b{"b", shape_.B}, h{"h", shape_.H}, i{"i", shape_.Nq}, j{"j", shape_.Nk}, d{"d", shape_.D};
    fa::check_close("dq", got.dq, oracle_.dq, {b, h, i, d}, tolerance_.dq);
    fa::check_close("dv", got.dv, oracle_.dv, {b, h, j, d}, tolerance_.dv);
    fa::check_close("dk", got.dk, oracle_.dk, {b, h, j, d}, tolerance_.dk);
  }
  const Forward& forward() const { return forward_; }

 private:
  const fa::Inputs& inputs_;
  fa::Shape shape_;
  fa::Options options_;
  Forward forward_;
  fa::BackwardOracle oracle_;
  fa::BackwardTolerance tolerance_;
};

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape, std::span<const fa::Tiles> tiles,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) {
    const Expected expected(inputs, shape, {.causal = causal, .scale = scale});
    for (const fa::Tiles& one : tiles) expected.check(one);
  }
}
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Tiles& tiles,
                             std::optional<float> scale = std::nullopt) {
  check_both_masks(inputs, shape, std::span(&tiles, 1), scale);
}

// Bytes are counted by the emulator. On a GPU, ./course profile 10 asks the hardware.
inline void require_counts() {
  if (!fa::counts_bytes) SKIP("a GPU does not count bytes: see ./course profile 10");
}

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

// Fails unless all of the results are as they were before anybody wrote.
inline void check_unwritten(const Operands& operands) {
  for (const fa::DeviceBuffer<float>* buffer : {&operands.delta, &operands.dq, &operands.dk, &operands.dv}) {
    for (const float value : buffer->to_host()) {
      if (fa::is_poison(value)) continue;
      FAIL_CHECK(buffer->name() << " was written: " << value);
      break;
    }
  }
}

}  // namespace support
