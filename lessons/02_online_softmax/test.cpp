// The properties of lesson 02, in the order in which a teacher would look.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "online_softmax.h"
#include "test_random.h"
#include "test_support.h"

using namespace support;
using lesson::AttentionState;
using lesson::SoftmaxState;

// ---- Step 1

TEST_CASE("safe softmax is right for scores of any size", "[step1]") {
  check_softmax(lesson::safe_softmax, kRowsOfAnySize);
}

TEST_CASE("safe softmax touches each element 4 times: 3 reads, 1 write", "[step1]") {
  check_accesses(lesson::safe_softmax, 3);
}

TEST_CASE("a NaN or +inf makes all of safe softmax NaN", "[step1]") {
  check_softmax(lesson::safe_softmax, kRowsWithNaN);
}

// ---- Step 2

TEST_CASE("online softmax is right for scores of any size", "[step2]") {
  check_softmax(lesson::online_softmax, kRowsOfAnySize);
}

TEST_CASE("online softmax touches each element 3 times: 2 reads, 1 write", "[step2]") {
  check_accesses(lesson::online_softmax, 2);
}

TEST_CASE("a NaN or +inf makes all of online softmax NaN", "[step2]") {
  check_softmax(lesson::online_softmax, kRowsWithNaN);
}

TEST_CASE("a row that is too short is named, and nothing is written", "[step2]") {
  for (const Softmax softmax : {lesson::safe_softmax, lesson::online_softmax}) {
    run(softmax, {1, 2, 3});  // what is right is not rejected
    fa::TrafficMeter meter;
    const Row x = {1, 2};
    Row y = fa::poisoned(3), y_short = fa::poisoned(1);
    const auto x_in_hbm = meter.buffer("x", x);
    const auto y_in_hbm = meter.buffer("y", y), y_short_in_hbm = meter.buffer("y_short", y_short);
    fa::check_rejects([&] { softmax(x_in_hbm, y_in_hbm, 3); }, "x has 2 elements");
    fa::check_rejects([&] { softmax(x_in_hbm, y_short_in_hbm, 2); }, "y has 1 elements");
    fa::check_rejects([&] { softmax(x_in_hbm, y_in_hbm, -1); }, "N = -1");
    CHECK(meter.total() == fa::Traffic{});
  }
}

// ---- Step 3

TEST_CASE("one tile gives the maximum and the sum of the weights", "[step3]") {
  check_state(lesson::absorb(SoftmaxState{}, kHigh), {2.0, 1.367879}, " after (2, 1)");
  const Row scores = fa::normal_values(1000, 5);
  const std::vector<double> expected = exact_state(scores, scores);
  check_state(lesson::absorb(SoftmaxState{}, scores), {expected[0], expected[1]}, " after 1000 scores");
}

TEST_CASE("a later tile is measured from the new maximum, whichever tile holds it", "[step3]") {
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, kHigh), kLow), {2.0, 1.503215}, " after (2, 1), then (0)");
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, kLow), kHigh), {2.0, 1.503215}, " after (0), then (2, 1)");
}

TEST_CASE("all scores negative: the maximum does not start at 0", "[step3]") {
  check_state(lesson::absorb(SoftmaxState{}, Row{-5e4f, -5e4f - 1.0f}), {-5e4, 1.367879}, " after (-50000, -50001)");
}

TEST_CASE("empty tiles, and tiles of -inf, change nothing", "[step3]") {
  const Row masked{-fa::infinity, -fa::infinity}, one{3.0f};
  check_state(lesson::absorb(SoftmaxState{}, {}), {fa::negative_infinity, 0}, " after ()");
  check_state(lesson::absorb(SoftmaxState{}, masked), {fa::negative_infinity, 0}, " after (-inf, -inf)");
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, masked), one), {3, 1}, " after (-inf, -inf), then (3)");
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, one), masked), {3, 1}, " after (3), then (-inf, -inf)");
}

TEST_CASE("scores of 1e4 neither overflow nor vanish", "[step3]") {
  const Row low{-1e4f, -1e4f}, high{1e4f, 1e4f - 1.0f};
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, low), high), {1e4, 1.367879},
              " after (-1e4, -1e4), then (1e4, 9999)");
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, high), low), {1e4, 1.367879},
              " after (1e4, 9999), then (-1e4, -1e4)");
}

TEST_CASE("a NaN or +inf stays in the sum, whatever comes after", "[step3]") {
  for (const float bad : {fa::nan, fa::infinity}) {
    INFO("bad = " << bad);
    check_nan("l after (1, bad), then (5)", lesson::absorb(lesson::absorb(SoftmaxState{}, Row{1, bad}), Row{5}).l);
    check_nan("l after (bad), then (-inf)",
              lesson::absorb(lesson::absorb(SoftmaxState{}, Row{bad}), Row{-fa::infinity}).l);
  }
}

// ---- Step 4

TEST_CASE("merging two states is the state of all their scores", "[step4]") {
  const SoftmaxState high{2.0f, 1.367879f}, low{0.0f, 1.0f};
  check_state(lesson::merge(high, low), {2.0, 1.503215}, " of merge((2, 1.367879), (0, 1))");
  check_state(lesson::merge(low, high), {2.0, 1.503215}, " of merge((0, 1), (2, 1.367879))");
  check_state(lesson::merge(SoftmaxState{-1e4f, 3.0f}, SoftmaxState{1e4f, 2.0f}), {1e4, 2.0},
              " of merge((-1e4, 3), (1e4, 2))");
}

TEST_CASE("the empty state is the identity of the merge, also with itself", "[step4]") {
  const SoftmaxState a{-3.5f, 1.25f}, empty;
  check_state(lesson::merge(a, empty), {-3.5, 1.25}, " of merge((-3.5, 1.25), empty)");
  check_state(lesson::merge(empty, a), {-3.5, 1.25}, " of merge(empty, (-3.5, 1.25))");
  check_state(lesson::merge(empty, empty), {fa::negative_infinity, 0}, " of merge(empty, empty)");
}

TEST_CASE("a NaN sum stays NaN in a merge, also beside m = -inf", "[step4]") {
  const SoftmaxState good{3.0f, 1.0f}, only_nan{-fa::infinity, fa::nan}, with_inf{fa::infinity, fa::nan};
  for (const SoftmaxState& bad : {only_nan, with_inf}) {
    INFO("bad = (" << bad.m << ", " << bad.l << ")");
    check_nan("l of merge(bad, (3, 1))", lesson::merge(bad, good).l);
    check_nan("l of merge((3, 1), bad)", lesson::merge(good, bad).l);
    check_nan("l of merge(bad, empty)", lesson::merge(bad, SoftmaxState{}).l);
  }
}

// ---- Step 5

TEST_CASE("u sums the values times their weights, as worked by hand", "[step5]") {
  const AttentionState after_high = state_of(kHigh, kHighValues);
  check_state(after_high, {2.0, 1.367879, 2.103638}, " after (2, 1)");
  check_state(lesson::absorb(after_high, kLow, kLowValue), {2.0, 1.503215, 2.780315}, " after (2, 1), then (0)");
}

TEST_CASE("when the maximum rises from 0 to 2, l and u are rescaled by e^-2", "[step5]") {
  const AttentionState after_low = state_of(kLow, kLowValue);
  check_state(after_low, {0.0, 1.0, 5.0}, " after (0)");
  check_state(lesson::absorb(after_low, kHigh, kHighValues), {2.0, 1.503215, 2.780315}, " after (0), then (2, 1)");
}

TEST_CASE("merging two tiles gives the state of all their keys, in both orders", "[step5]") {
  const AttentionState high = state_of(kHigh, kHighValues), low = state_of(kLow, kLowValue);
  check_state(lesson::merge(high, low), {2.0, 1.503215, 2.780315}, " of merge(state of (2, 1), state of (0))");
  check_state(lesson::merge(low, high), {2.0, 1.503215, 2.780315}, " of merge(state of (0), state of (2, 1))");
}

TEST_CASE("l e^m and u e^m are the sums of e^s and e^s v over the keys seen", "[step5]") {
  const auto check_sums = [](AttentionState state, double sum, double sum_of_values) {
    fa::check_close("(l e^m, u e^m)", std::array{state.l * std::exp(state.m), state.u * std::exp(state.m)},
                    std::vector{sum, sum_of_values}, {{"component", 2}}, kTight);
  };
  const AttentionState high = state_of(kHigh, kHighValues), low = state_of(kLow, kLowValue);
  check_sums(high, 10.107338, 15.543901);
  check_sums(low, 1.0, 5.0);
  check_sums(lesson::absorb(high, kLow, kLowValue), 11.107338, 20.543901);
  check_sums(lesson::absorb(low, kHigh, kHighValues), 11.107338, 20.543901);
}

TEST_CASE("the invariant holds after every tile, for every split of a row into tiles", "[step5]") {
  for (unsigned cuts = 0; cuts < 1u << (kScores.size() - 1); ++cuts) {  // bit j: a tile ends after key j
    std::vector<std::size_t> sizes{1};
    for (std::size_t j = 0; j + 1 < kScores.size(); ++j) {
      if (cuts >> j & 1) {
        sizes.push_back(1);
      } else {
        ++sizes.back();
      }
    }
    check_tiles(sizes);
  }
  const Row scores = fa::normal_values(1000, 5), values = fa::normal_values(1000, 6);
  // The values have both signs, so u may be near 0, while its rounding errors are those of terms that sum to about 100.
  fa::Tolerance tolerance = kTight;
  tolerance.absolute = 3e-5;
  check_state(state_of(scores, values), exact_state(scores, values), " after 1000 scores", tolerance);
}

TEST_CASE("the order of the keys does not matter", "[step5]") {
  std::array<std::size_t, 7> order{0, 1, 2, 3, 4, 5, 6};
  do {  // 5040 orders, one key at a time
    AttentionState state;
    for (const std::size_t j : order) {
      state = lesson::absorb(state, Part(kScores).subspan(j, 1), Part(kValues).subspan(j, 1));
    }
    INFO("keys in the order " << list(order));
    if (!check_state(state, exact_state(kScores, kValues))) return;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a shift of all scores moves m by as much, and leaves l and u alone", "[step5]") {
  for (const float shift : {-4096.0f, -64.0f, 64.0f, 4096.0f}) {
    CAPTURE(shift);
    AttentionState state;
    for (const float score : {0.25f, -1.75f, 3.0f}) {  // such that score + shift is exact
      state = lesson::absorb(state, Row{score + shift}, Row{score});
    }
    std::vector<double> expected = exact_state(Row{0.25f, -1.75f, 3.0f}, Row{0.25f, -1.75f, 3.0f});
    expected[0] += double(shift);
    check_state(state, expected);
  }
}

TEST_CASE("merging is commutative and associative, and every cut of a row gives the whole", "[step5]") {
  const auto part = [](std::size_t begin, std::size_t end) {
    return state_of(Part(kScores).subspan(begin, end - begin), Part(kValues).subspan(begin, end - begin));
  };
  const std::vector<double> whole = exact_state(kScores, kValues);
  for (std::size_t first = 0; first <= kScores.size(); ++first) {
    for (std::size_t second = first; second <= kScores.size(); ++second) {
      const AttentionState a = part(0, first), b = part(first, second), c = part(second, kScores.size());
      INFO("a, b, c: the keys before " << first << ", then those before " << second << ", then the rest");
      check_state(lesson::merge(lesson::merge(a, b), c), whole, " of merge(merge(a, b), c)");
      check_state(lesson::merge(a, lesson::merge(b, c)), whole, " of merge(a, merge(b, c))");
      check_state(lesson::merge(c, lesson::merge(b, a)), whole, " of merge(c, merge(b, a))");
    }
  }
}

TEST_CASE("the empty state with values is the identity of the merge, also with itself", "[step5]") {
  const AttentionState a{-3.5f, 1.25f, -6.0f}, empty;
  check_state(lesson::merge(a, empty), {-3.5, 1.25, -6}, " of merge((-3.5, 1.25, -6), empty)");
  check_state(lesson::merge(empty, a), {-3.5, 1.25, -6}, " of merge(empty, (-3.5, 1.25, -6))");
  check_state(lesson::merge(empty, empty), {fa::negative_infinity, 0, 0}, " of merge(empty, empty)");
  check_state(lesson::absorb(empty, {}, {}), {fa::negative_infinity, 0, 0}, " after ()");
  check_state(state_of(Row{-fa::infinity}, Row{2}), {fa::negative_infinity, 0, 0}, " after (-inf)");
}

TEST_CASE("a NaN stays in l and u, whatever comes after", "[step5]") {
  const AttentionState good{3.0f, 1.0f, 2.0f};
  for (const float bad : {fa::nan, fa::infinity}) {
    INFO("bad = " << bad);
    const AttentionState alone = state_of(Row{bad}, Row{1});
    for (const AttentionState& state : {alone, lesson::absorb(alone, Row{5}, Row{1}), lesson::merge(alone, good),
                                        lesson::merge(good, alone), lesson::merge(alone, AttentionState{})}) {
      check_nan("l", state.l);
      check_nan("u", state.u);
    }
  }
}

TEST_CASE("scores and values of different lengths are rejected", "[step5]") {
  check_state(state_of(kScores, kScores), exact_state(kScores, kScores));  // what is right is not rejected
  fa::check_rejects([] { state_of(kHigh, kLowValue); }, "values has 1 elements");
}

// ---- Step 6

TEST_CASE("a single key returns its value; equal scores the mean; a score far above the others its value", "[step6]") {
  const Row values{1, 2, 4, 9};
  check_value("output of a single key", lesson::output(state_of(Row{-7}, Row{2.5f})), 2.5, {});
  check_value("output of equal scores", lesson::output(state_of(Row{-2, -2, -2, -2}, values)), 4.0, {});
  check_value("output of scores 0, 500, -500, 3", lesson::output(state_of(Row{0, 500, -500, 3}, values)), 2.0, {});
}

TEST_CASE("the output is u / l and log-sum-exp is m + ln l, as worked by hand", "[step6]") {
  const AttentionState state = state_of(Row{2, 1, 0}, Row{1, 3, 5});
  check_value("output", lesson::output(state), 1.849579);
  check_value("log_sum_exp", lesson::log_sum_exp(state), 2.407606);
}

TEST_CASE("outputs that are divided already merge by l e^(m - m'), not by e^(m - m') alone", "[step6]") {
  const AttentionState low = state_of(kLow, kLowValue), high = state_of(kHigh, kHighValues);
  const AttentionState both = lesson::merge(low, high);
  const float low_output = lesson::output(low), high_output = lesson::output(high);
  const float low_factor = std::exp(low.m - both.m) / both.l, high_factor = std::exp(high.m - both.m) / both.l;
  fa::check_close("factors", std::array{low_factor * low.l, high_factor * high.l, high_factor},
                  std::vector{0.090031, 0.909969, 0.665241}, {{"at", 3}}, kTight);
  fa::check_close("outputs", std::array{low_output, high_output, lesson::output(both)},
                  std::vector{5.0, 1.537883, 1.849579}, {{"state", 3}}, kTight);
  check_value("with l of both", low_factor * low.l * low_output + high_factor * high.l * high_output, 1.849579);
  check_value("without l of the second", low_factor * low.l * low_output + high_factor * high_output, 1.473216);
}

TEST_CASE("log-sum-exp is right to 1e-6 at scores of 1e3, positive and negative", "[step6]") {
  for (const float base : {-1e3f, 0.5f, 1e3f}) {
    const Row scores{base, base + 1.0f, base - 2.0f};
    const double exact = double(base) + std::log(1.0 + std::exp(1.0) + std::exp(-2.0));
    INFO("scores " << list(scores));
    check_value("log_sum_exp", lesson::log_sum_exp(state_of(scores, scores)), exact, {0.0, 1e-6, 1e-6});
  }
}

TEST_CASE("no key: the output is 0 and log-sum-exp is -inf", "[step6]") {
  for (const AttentionState& none : {AttentionState{}, state_of(Row{-fa::infinity, -fa::infinity}, Row{1, 2})}) {
    check_value("output", lesson::output(none), 0.0);
    check_value("log_sum_exp", lesson::log_sum_exp(none), fa::negative_infinity);
  }
}

TEST_CASE("a NaN, or a score of +inf, reaches the output", "[step6]") {
  for (const float bad : {fa::nan, fa::infinity}) {
    INFO("bad = " << bad);
    // After a NaN alone, m may be -inf, as in the empty state.
    for (const AttentionState& state : {state_of(Row{0, bad}, Row{1, 2}), state_of(Row{bad}, Row{1})}) {
      INFO("state (" << state.m << ", " << state.l << ", " << state.u << ")");
      check_nan("output", lesson::output(state));
      check_nan("log_sum_exp", lesson::log_sum_exp(state));
    }
  }
  check_nan("output of a value that is NaN", lesson::output(state_of(Row{0, 1}, Row{1, fa::nan})));
}

TEST_CASE("in random cases, every state and softmax is that of its scores", "[step6][random]") { check_random(); }
