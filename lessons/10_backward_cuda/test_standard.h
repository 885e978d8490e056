// The tests of the given standard pass, and of both passes at the shape of the paper's table.

#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "fa/testing.h"
#include "fa/traffic.h"
#include "standard_backward.h"
#include "test_backward.h"
#include "test_support.h"

namespace support {

// P of an exact forward pass, rounded to float.
inline std::vector<float> exact_weights(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  const fa::ForwardOracle forward = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const double scale = double(fa::scale_of(shape, options));
  std::vector<float> p;
  for (fa::Index row = 0; row < fa::query_rows(shape); ++row) {
    for (fa::Index j = 0; j < shape.Nk; ++j) {
      const float* const q = &inputs.q[std::size_t(row * shape.D)];
      const float* const k = &inputs.k[std::size_t((row / shape.Nq * shape.Nk + j) * shape.D)];
      double dot = 0.0;
      for (fa::Index d = 0; d < shape.D; ++d) dot += double(q[d]) * double(k[d]);
      const bool seen = j < fa::visible_keys(shape, options, row % shape.Nq);
      p.push_back(seen ? float(std::exp(scale * dot - forward.lse[std::size_t(row)])) : 0.0f);
    }
  }
  return p;
}

// The given standard pass is right, and moves what its own formula says.
inline void check_standard(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  const Expected expected(inputs, shape, options);
  Operands operands(inputs, expected.forward(), shape);
  const fa::DeviceBuffer<float> p("p", exact_weights(inputs, shape, options));
  fa::DeviceMeter meter;
  lesson::standard_backward(operands.q, operands.k, operands.v, p, operands.dout, operands.dq, operands.dk, operands.dv,
                            shape, options, operands.scratch);
  expected.check(operands.gradients());
  check_bytes("dP and dS", 2 * p.bytes(), operands.scratch.peak_bytes());
  if (fa::counts_bytes) check_traffic("standard pass", lesson::standard_backward_traffic(shape), meter.total());
}

inline void check_standard() {
  const fa::Shape odd{.B = 2, .H = 3, .Nq = 37, .Nk = 45, .D = 20}, square{.Nq = 9, .Nk = 9, .D = 4};
  const fa::Shape no_queries{.Nq = 0, .Nk = 5, .D = 4}, no_keys{.Nq = 5, .Nk = 0, .D = 4};
  for (const bool causal : {false, true}) {
    for (const fa::Shape& shape : {odd, fa::Shape{.Nq = 70, .Nk = 3, .D = 33}, no_queries, no_keys}) {
      check_standard(fa::make_inputs(shape), shape, {.causal = causal});
    }
    for (const fa::Inputs& inputs : nan_in_each_operand(square)) check_standard(inputs, square, {.causal = causal});
  }
}

// A call for the shape `asked`, with operands for Nq = 2, Nk = 3, D = 2, but for `one_less`, which lacks an element.
inline void check_rejected_by_standard(const std::string& one_less, const fa::Shape& asked, const fa::Options& options,
                                       const std::string& text) {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  const fa::Inputs inputs = fa::make_inputs(shape);
  Operands operands(inputs, Forward(inputs, shape, {}), shape, one_less);
  const fa::DeviceBuffer<float> p("p", std::vector<float>(one_less == "p" ? 5 : 6, 0.5f));
  const auto call = [&] {
    lesson::standard_backward(operands.q, operands.k, operands.v, p, operands.dout, operands.dq, operands.dk,
                              operands.dv, asked, options, operands.scratch);
  };
  fa::check_rejects(call, text);
  check_unwritten(operands);
  CHECK(operands.scratch.total_bytes() == 0);
}

inline void check_rejected_by_standard() {
  const fa::Shape shape{.Nq = 2, .Nk = 3, .D = 2};
  for (const std::string name : {"q", "k", "v", "p", "dout", "dq", "dk", "dv"}) {
    check_rejected_by_standard(name, shape, {}, name + " has ");
  }
  check_rejected_by_standard("", {.Nq = 2, .Nk = -3, .D = 2}, {}, "Nk = -3");
  check_rejected_by_standard("", shape, {.scale = fa::infinity}, "scale = inf");
  const auto too_much = [](const fa::Shape& asked, const std::string& text) {
    check_rejected_by_standard("", asked, {}, text + ", for a grid");
  };
  too_much({.B = 256, .H = 256, .Nq = 1, .Nk = 1}, "B · H = 65536: must be at most 65535");
  too_much({.Nq = 2097121, .Nk = 1}, "Nq = 2097121: must be at most 2097120");
  too_much({.Nq = 1, .Nk = 2097121}, "Nk = 2097121: must be at most 2097120");
  too_much({.B = 8193, .Nq = 2097120, .Nk = 1}, "B · H · Nq = 17181704160: must be at most 17179869176");
  for (const fa::Shape& largest : {fa::Shape{.B = 65535}, fa::Shape{.Nq = 2097120}, fa::Shape{.Nk = 2097120}}) {
    check_rejected_by_standard("", largest, {}, " elements: must have ");  // not for its grid
  }
}

inline void check_at_the_shape_of_the_paper() {
  const fa::Shape shape{.B = 64, .H = 16, .Nq = 1024, .Nk = 1024, .D = 64};
  check_bytes("V1, backward", 10573840384, lesson::backward_traffic(shape, {}, {.Br = 64, .Bc = 128}).total());
  check_bytes("standard, backward", 95294586880, lesson::standard_backward_traffic(shape).total());
  const fa::Index product = fa::forward_flops(shape, {}) / 2;
  CHECK(product == 137438953472);
  const fa::Tiles half{.Br = 64, .Bc = 256};  // of 2 bytes an element
  check_bytes("V1, half precision", 5477761024,
              fa::v1_forward_traffic(shape, {}, half, 2).total() + fa::v1_backward_traffic(shape, {}, half, 2).total());
  CHECK(fa::backward_flops(shape, {}, fa::Weights::stored) == 4 * product);
  CHECK(fa::backward_flops(shape, {}, fa::Weights::recomputed) == 5 * product);
}

}  // namespace support
