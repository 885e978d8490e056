// What both kernels of lesson 07 promise besides the result: bytes, memory, accuracy, the same bits.

#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "test_forward.h"
#include "test_support.h"

#ifndef FA_CUDA
#include "tests/simt_support.h"
#endif

namespace support {

// By buffer, of four K/V tiles without a mask.
inline void check_each_buffer(const Subject& subject) {
  const fa::Tiles tiles = subject.tiles[0];
  const fa::Shape shape{.B = 2, .H = 3, .Nq = 40, .Nk = 3 * tiles.Bc + 2, .D = 64};
  in_both_formats([&]<class T>() {
    Operands<T> operands(inputs_of<T>(shape), shape);
    fa::DeviceMeter meter;
    operands.forward(subject.kernel, {}, tiles);
    const fa::Index rows = 6 * 40, half_row = 2 * 64, float_row = 4 * 64;
    for (const char* name : {"k", "v"}) check_traffic(name, {6 * shape.Nk * half_row, 0}, meter.of(name));
    check_traffic("q", {4 * rows * half_row, 0}, meter.of("q"));
    check_traffic("partial", {3 * rows * float_row, 3 * rows * float_row}, meter.of("partial"));
    for (const char* name : {"m", "l"}) check_traffic(name, {3 * rows * 4, 4 * rows * 4}, meter.of(name));
    check_traffic("out", {0, rows * half_row}, meter.of("out"));
  });
}

inline void check_formula(const Subject& subject) {
  for (const fa::Shape& shape : ragged_shapes) {
    for (const fa::Tiles& tiles : subject.tiles) {
      for (const fa::Options& options : {fa::Options{}, {.causal = true}}) {
        CAPTURE(shape, tiles, options);
        Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
        fa::DeviceMeter meter;
        operands.forward(subject.kernel, options, tiles);
        const fa::Traffic formula = fa::v1_tensor_core_traffic(shape, options, {lesson::kRows, tiles.Bc});
        check_traffic("all buffers", formula, meter.total());
      }
    }
  }
}

#ifndef FA_CUDA
// Neither the copies into a tile nor the loads of its parts take more passes through the banks than they must.
inline void check_banks(const Subject& subject) {
  for (const fa::Index D : {64, 128}) {
    const fa::Shape shape{.Nq = 32, .Nk = 128, .D = D};
    Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
    const fa::DeviceMeter meter(fa::Count::banks);
    operands.forward(subject.kernel, {}, {.Br = 32, .Bc = 64});
    for (const char* array : {"k_tile", "v_tile"}) {
      CAPTURE(array, D);
      CHECK(meter.shared_of(array).loads.requests > 0);
      CHECK(meter.shared_of(array).loads.conflicts == 0);
      CHECK(meter.shared_of(array).stores.conflicts == 0);
    }
  }
}
#endif

// However many warps a block has.
inline void check_any_br(const Subject& subject, fa::Index most_Br) {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 75, .Nk = 70, .D = 64};
  const fa::Inputs inputs = inputs_of<fa::half>(shape);
  for (const fa::Options& options : {fa::Options{}, {.causal = true}}) {
    const auto with = [&](fa::Index Br) {
      Operands<fa::half> operands(inputs, shape);
      fa::DeviceMeter meter;
      operands.forward(subject.kernel, options, {.Br = Br, .Bc = subject.tiles[0].Bc});
      return std::pair{operands.result(), fa::counts_bytes ? meter.total() : fa::Traffic{}};
    };
    const auto [one_warp, one_warp_moves] = with(16);
    for (const fa::Index Br : {fa::Index{32}, fa::Index{80}, most_Br}) {
      CAPTURE(Br, options);
      const auto [more_warps, more_warps_move] = with(Br);
      check_same_bits(one_warp, more_warps);
      check_traffic("all buffers", one_warp_moves, more_warps_move);
    }
  }
}

// Working memory for one head of N queries and keys. The function itself must take nothing.
inline fa::Index measured_scratch(Kernel kernel, fa::Index N) {
  const fa::Shape shape{.Nq = N, .Nk = N, .D = 64};
  Operands<fa::half> operands(inputs_of<fa::half>(shape), shape);
  const fa::Index before = fa::device_bytes_taken();
  operands.forward(kernel, {}, {.Br = 32, .Bc = 64});
  check_bytes("HBM that the function took", 0, fa::device_bytes_taken() - before);
  return operands.scratch.peak_bytes();
}

// 8192 weights of 1: in fp16 a sum would stop at 2048, in bfloat16 at 256.
inline void check_long_sum(const Subject& subject) {
  const fa::Shape shape{.Nq = 1, .Nk = 8192, .D = 64};
  fa::Inputs inputs = fa::make_inputs(shape);
  std::fill(inputs.q.begin(), inputs.q.end(), 0.0f);  // so all scores are
  in_both_formats([&]<class T>() {
    Operands<T> operands(inputs, shape);
    operands.forward(subject.kernel, {}, {.Br = 16, .Bc = 64});
    CHECK(operands.result().l == std::vector<float>{8192.0f});
  });
}

inline void check_scratch(const Subject& subject) {
  for (const fa::Index N : {32, 64, 128}) {
    check_bytes("partial, m and l", 4 * (64 + 2) * N, measured_scratch(subject.kernel, N));
    check_bytes("formula", 4 * (64 + 2) * N, fa::v1_tensor_core_scratch({.Nq = N, .Nk = N, .D = 64}));
  }
}

// The error against the oracle, beside that of standard attention in the same format.
template <class T>
void check_accuracy_of(Kernel kernel, fa::InputKind kind, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles) {
  CAPTURE(shape, options);
  INFO("inputs: " << fa::name_of(kind));
  const fa::Inputs inputs = inputs_of<T>(shape, kind);
  const std::vector<double> exact = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options).out;
  const fa::AbsoluteError standard =
      fa::absolute_error(fa::standard_attention_in_half<T>(inputs.q, inputs.k, inputs.v, shape, options), exact);
  const fa::AbsoluteError ours = fa::absolute_error(run<T>(kernel, inputs, shape, options, tiles).out, exact);
  CHECK(ours.largest <= 2 * standard.largest + fa::accuracy_floor<T>);
  CHECK(ours.root_mean_square <= 2 * standard.root_mean_square + fa::accuracy_floor<T>);
}

inline void check_accuracy(const Subject& subject) {
  in_both_formats([&]<class T>() {
    for (const fa::InputKind kind : {fa::InputKind::normal, fa::InputKind::outliers}) {
      for (const fa::Index D : {64, 128}) {
        const fa::Shape shape{.B = 1, .H = 2, .Nq = 127, .Nk = 127, .D = D};
        for (const fa::Options& options : {fa::Options{}, {.causal = true}}) {
          check_accuracy_of<T>(subject.kernel, kind, shape, options, subject.tiles[1]);
        }
      }
    }
  });
}

inline void check_repeatable(const Subject& subject) {
  const fa::Shape shape{.B = 2, .H = 2, .Nq = 65, .Nk = 63, .D = 64};
  in_both_formats([&]<class T>() {
    const auto once = [&] { return run<T>(subject.kernel, inputs_of<T>(shape), shape, {}, subject.tiles[1]); };
    check_same_bits(once(), once());
  });
}

#ifndef FA_CUDA
inline void check_orders(const Subject& subject) {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 65, .Nk = 150, .D = 64};
  in_both_formats([&]<class T>() {
    const auto once = [&] {
      return run<T>(subject.kernel, inputs_of<T>(shape), shape, {.causal = true}, subject.tiles[1]);
    };
    const Result forward = once();
    for (const auto order : {fa::simt::Order::backward, fa::simt::Order::shuffled}) {
      fa::simt::Settings settings = fa::simt::settings();
      settings.order = order;
      const fa::simt::With until_the_end_of_this_turn(settings);
      check_same_bits(forward, once());
    }
  });
}
#else
inline void check_64_bit_indices(const Subject& subject) {
  // B · H · N · D is more than 2^31. Only the last head has numbers; what others read is poison.
  using T = fa::half;
  const fa::Shape shape{.B = 4097, .H = 64, .Nq = 64, .Nk = 64, .D = 128}, one{.Nq = 64, .Nk = 64, .D = 128};
  const fa::Index elements = fa::query_elements(shape), last = elements - fa::query_elements(one);
  if (fa::device().memory_bytes < 13 * elements) SKIP("needs 28 GB of HBM");
  const fa::Inputs inputs = inputs_of<T>(one);
  fa::DeviceBuffer<T> q("q", elements), k("k", elements), v("v", elements), out("out", elements);
  fa::DeviceScratch scratch;
  lesson::State state(scratch, shape);
  q.from_host(fa::rounded<T>(inputs.q), last);
  k.from_host(fa::rounded<T>(inputs.k), last);
  v.from_host(fa::rounded<T>(inputs.v), last);
  if (subject.kernel == Kernel::exercise) {
    lesson::attention_forward(q, k, v, out, state, shape, {}, {.Br = 32, .Bc = 32});
  } else {
    lesson::attention_forward_mma(q, k, v, out, state, shape, {}, {.Br = 32, .Bc = 64});
  }
  const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, one, {});
  fa::check_close("m of the last head", state.m.to_host(last / 128, 64), oracle.m, {{"i", 64}},
                  fa::lse_tolerance(inputs.q, inputs.k, one, {}));
  fa::check_close("out of the last head", fa::widened<T>(out.to_host(last, fa::query_elements(one))), oracle.out,
                  {{"i", 64}, {"d", 128}}, fa::half_tolerance<T>(inputs.q, inputs.k, inputs.v, oracle.out, one, {}));
}
#endif

}  // namespace support
