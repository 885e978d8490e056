// Which arguments lesson 02 accepts: see reference/fa/fuzz.h.

#include "fa/fuzz.h"

#include "online_softmax.h"

namespace {

void try_softmax(fa::fuzz::Arguments& arguments) {
  const fa::Index N = arguments.integer(), x_size = arguments.elements(N), y_size = arguments.elements(N);
  const std::vector<float> x(static_cast<std::size_t>(x_size), 0.5f);
  std::vector<float> y = fa::poisoned(y_size);
  fa::TrafficMeter meter;
  const auto x_in_hbm = meter.buffer("x", x);
  const auto y_in_hbm = meter.buffer("y", y);
  const auto softmax = arguments.choice(2) == 0 ? lesson::safe_softmax : lesson::online_softmax;
  const std::string words =
      "N=" + std::to_string(N) + " x of " + std::to_string(x_size) + " elements, y of " + std::to_string(y_size);
  const bool accepted = fa::fuzz::succeeds([&] { softmax(x_in_hbm, y_in_hbm, N); },
                                           {.invalid = N < 0 || x_size < N || y_size < N}, words);
  const auto first = static_cast<std::size_t>(accepted ? N : y_size);  // more elements than N are left alone
  fa::fuzz::check_output("y", std::span(y).first(first), accepted, words);
  fa::fuzz::check_output("y past N", std::span(y).subspan(first), false, words);
}

void try_absorb(fa::fuzz::Arguments& arguments) {
  const fa::Index scores = arguments.choice(8), values = arguments.elements(scores);
  const std::vector<float> s(static_cast<std::size_t>(scores), 0.5f), v(static_cast<std::size_t>(values), 0.5f);
  fa::fuzz::succeeds([&] { lesson::absorb(lesson::AttentionState{}, s, v); }, {.invalid = scores != values},
                     std::to_string(scores) + " scores, " + std::to_string(values) + " values");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  fa::fuzz::Arguments arguments(bytes, count);
  if (arguments.choice(4) == 0) {
    try_absorb(arguments);
  } else {
    try_softmax(arguments);
  }
  return 0;
}
