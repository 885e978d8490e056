// What the tests of lesson 11 share: operands on the device, runs, and comparisons.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_forward.h"
#include "fa/testing.h"
#include "fa/traffic.h"

namespace support {

inline constexpr fa::Tiles tiles{.Br = lesson::Br, .Bc = lesson::Bc};

// Numbers by hand have six digits after the point.
inline constexpr fa::Tolerance by_hand{.absolute = 1e-6, .relative = 1e-6, .normwise = 1e-6};

// With more than 64 columns a block needs more shared memory than a T4 has. There such a shape is rejected, not tested.
inline bool fits(const fa::Shape& shape) {
  return lesson::shared_memory_bytes(shape.D) <= fa::device().shared_bytes_per_block;
}

// What HBM holds of the result.
struct Result {
  std::vector<float> out, lse;
};

// All operands, in HBM; the outputs poisoned. `resized` names an operand that has `more` elements than it should.
struct Operands {
  fa::Shape shape;
  fa::DeviceBuffer<float> q, k, v, out, lse;

  Operands(const fa::Inputs& inputs, const fa::Shape& of, std::string_view resized = "", int more = 0)
      : shape(of),
        q("q", with_more(inputs.q, resized == "q" ? more : 0)),
        k("k", with_more(inputs.k, resized == "k" ? more : 0)),
        v("v", with_more(inputs.v, resized == "v" ? more : 0)),
        out("out", fa::query_elements(of) + (resized == "out" ? more : 0)),
        lse("lse", fa::query_rows(of) + (resized == "lse" ? more : 0)) {}

  static std::vector<float> with_more(std::vector<float> values, int more) {
    values.resize(std::size_t(fa::Index(values.size()) + more));
    return values;
  }

  void forward(const fa::Options& options) { lesson::attention_forward(q, k, v, out, lse, shape, options); }
  Result result() const { return {out.to_host(), lse.to_host()}; }
};

inline Result run(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  Operands operands(inputs, shape);
  operands.forward(options);
  return operands.result();
}

// Runs `call`. Steps after `step` need not be written yet: what comes before them in the kernel has run, when there is
// one block.
template <class Call>
void as_far_as(int step, Call call) {
  try {
    call();
  } catch (const fa::NotStarted& unwritten) {
    const std::string text = unwritten.what();  // "not started: Step 4a: ..."
    const std::size_t at = text.find("Step ");
    if (at == std::string::npos || text[at + 5] - '0' <= step) throw;
  }
}

// One run as far as `step`: what it moved, and what it wrote.
struct Partly {
  Operands operands;
  fa::DeviceMeter meter;

  Partly(int step, const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options = {})
      : operands(inputs, shape) {
    as_far_as(step, [&] { operands.forward(options); });
  }
  Partly(int step, const fa::Shape& shape, const fa::Options& options = {})
      : Partly(step, fa::make_inputs(shape), shape, options) {}

  // In bytes: whole sectors of 32.
  fa::Index in_sectors(std::string_view buffer) const {
    for (const fa::BufferTraffic& row : meter.by_buffer()) {
      if (row.buffer == buffer) return 32 * (row.read_sectors + row.written_sectors);
    }
    return 0;
  }
};

// One row with D = 1 and q = 1, so that its scores are the keys. Tiles hold 32 keys: what is written as a tile of fewer
// is filled up with scores of −inf, which weigh nothing.
inline fa::Inputs one_row(const std::vector<std::vector<float>>& score_tiles, const std::vector<float>& values) {
  fa::Inputs inputs{.q = {1}, .k = {}, .v = {}, .dout = {}};
  std::size_t full = 0, next = 0;
  for (const std::vector<float>& scores : score_tiles) {
    inputs.k.resize(full, -fa::infinity);  // the tile before
    inputs.v.resize(full, 7.0f);
    for (const float score : scores) {
      inputs.k.push_back(score);
      inputs.v.push_back(values.at(next++));
    }
    full += std::size_t{lesson::Bc};
  }
  return inputs;
}

// The first `keys` keys of one head.
inline fa::Inputs first_keys(const fa::Inputs& inputs, const fa::Shape& shape, fa::Index keys) {
  const auto part = [&](const std::vector<float>& all) {
    return std::vector<float>(all.begin(), all.begin() + keys * shape.D);
  };
  return {.q = inputs.q, .k = part(inputs.k), .v = part(inputs.v), .dout = {}};
}

inline void check_lse(const std::vector<float>& got, const fa::Inputs& inputs, const fa::Shape& shape,
                      const fa::Options& options) {
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  fa::check_close("lse", got, oracle.lse, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}},
                  fa::lse_tolerance(inputs.q, inputs.k, shape, options));
}

// lse, as far as step 4, of a shape that takes one block.
inline void check_lse_of_a_block(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  if (!fits(shape)) return;
  check_lse(Partly(4, inputs, shape, options).operands.lse.to_host(), inputs, shape, options);
}

inline void check_against_oracle(const fa::Inputs& inputs, const fa::Shape& shape, const fa::Options& options) {
  CAPTURE(shape, options);
  if (!fits(shape)) return;
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
  const Result got = run(inputs, shape, options);
  fa::check_close("out", got.out, oracle.out, {{"b", shape.B}, {"h", shape.H}, {"i", shape.Nq}, {"d", shape.D}},
                  fa::forward_tolerance(inputs.q, inputs.k, inputs.v, oracle.out, shape, options));
  check_lse(got.lse, inputs, shape, options);
}

// With and without a causal mask.
inline void check_both_masks(const fa::Inputs& inputs, const fa::Shape& shape,
                             std::optional<float> scale = std::nullopt) {
  for (const bool causal : {false, true}) check_against_oracle(inputs, shape, {.causal = causal, .scale = scale});
}

// Bytes are counted by the emulator. On a GPU, ./course profile 11 asks the hardware.
inline void require_counts() {
  if (!fa::counts_bytes) SKIP("a GPU does not count bytes: see ./course profile 11");
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

// Fails unless the outputs are as they were before anybody wrote.
inline void check_unwritten(const Operands& operands) {
  for (const fa::DeviceBuffer<float>* buffer : {&operands.out, &operands.lse}) {
    for (const float value : buffer->to_host()) {
      if (fa::is_poison(value)) continue;
      FAIL_CHECK(buffer->name() << " was written: " << value);
      break;
    }
  }
}

}  // namespace support
