// The properties of lesson 02, in the order in which a teacher would look.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "fa/testing.h"
#include "online_softmax.h"

namespace {

using lesson::AttentionState;
using lesson::SoftmaxState;
using Row = std::span<const float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const fa::Tolerance kTight{.absolute = 1e-6, .relative = 2e-6, .normwise = 2e-6};

// What m, l, u must be after these scores, from their definitions, in double.
std::vector<double> exact_state(Row scores, Row values) {
  double m = fa::negative_infinity, l = 0.0, u = 0.0;
  for (const float score : scores) m = std::max(m, double(score));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = scores[j] == -kInfinity ? 0.0 : std::exp(double(scores[j]) - m);
    l += weight;
    u += weight * double(values[j]);
  }
  return {m, l, u};
}

void check_state(AttentionState got, const std::vector<double>& expected) {
  fa::check_close("(m, l, u)", std::array{got.m, got.l, got.u}, expected, {{"component", 3}}, kTight);
}
void check_state(SoftmaxState got, const std::vector<double>& expected) {
  fa::check_close("(m, l)", std::array{got.m, got.l}, {expected.data(), 2}, {{"component", 2}}, kTight);
}

using Softmax = void (*)(fa::hbm<const float>, fa::hbm<float>, fa::Index);

std::vector<float> run(Softmax softmax, const std::vector<float>& x) {
  fa::TrafficMeter meter;
  std::vector<float> y = fa::poisoned(fa::Index(x.size()));
  softmax(meter.buffer("x", x), meter.buffer("y", y), fa::Index(x.size()));
  return y;
}

void check_softmax(Softmax softmax, const std::vector<float>& x) {
  const std::vector<double> state = exact_state(x, x);
  std::vector<double> expected;
  for (const float score : x) {
    expected.push_back(score == -kInfinity ? 0.0 : std::exp(double(score) - state[0]) / state[1]);
  }
  fa::check_close("y", run(softmax, x), expected, {{"j", fa::Index(x.size())}}, kTight);
}

void check_accesses(Softmax softmax, fa::Index reads_an_element) {
  for (const fa::Index N : {1, 2, 17, 1000}) {
    fa::TrafficMeter meter;
    const std::vector<float> x = fa::normal_values(N, 3);
    std::vector<float> y = fa::poisoned(N);
    softmax(meter.buffer("x", x), meter.buffer("y", y), N);
    CAPTURE(N);
    CHECK(meter.of("x").read_bytes / 4 == reads_an_element * N);
    CHECK(meter.of("y").written_bytes / 4 == N);
    CHECK(meter.of("y").read_bytes == 0);
  }
}

void check_numbers(Softmax softmax) {
  check_softmax(softmax, {2, 1, 0});
  check_softmax(softmax, {0, 1, 2});
  check_softmax(softmax, fa::normal_values(127, 4));
  check_softmax(softmax, {-5e4f, -5e4f - 1, -6e4f});  // all far below zero
  check_softmax(softmax, {-1e4f, 1e4f, 0, 9999.5f});  // differences far above 88
  check_softmax(softmax, {-3, -3, -3, -3, -3});       // equal
  check_softmax(softmax, {0, -kInfinity, 1});         // −inf weighs 0, in any place
  check_softmax(softmax, {-kInfinity, -kInfinity, 4});
  check_softmax(softmax, {});
  const std::vector<float> nothing = run(softmax, {-kInfinity, -kInfinity});
  CHECK(nothing[0] == 0.0f);
  CHECK(nothing[1] == 0.0f);
}

void check_not_a_number(Softmax softmax) {
  for (const std::vector<float>& x :
       {std::vector<float>{0, kNaN, 1}, {kNaN, 0, 1}, {0, 1, kNaN}, {kNaN}, {0, kInfinity, 1}}) {
    for (const float value : run(softmax, x)) CHECK(std::isnan(value));
  }
}

const std::vector<float> kScores = {0.3f, -1.7f, 2.9f, 0.0f, 2.9f, -8.0f, 4.1f};
const std::vector<float> kValues = {1.0f, -2.0f, 0.5f, 7.0f, 3.0f, -4.0f, 2.5f};

// Absorbs scores and values in tiles of the given sizes and checks the invariant after each of them.
AttentionState absorb_tiles(const std::vector<std::size_t>& sizes) {
  AttentionState state;
  std::size_t seen = 0;
  for (const std::size_t size : sizes) {
    state = lesson::absorb(state, Row(kScores).subspan(seen, size), Row(kValues).subspan(seen, size));
    seen += size;
    INFO("after the tile of " << size << " that ends at key " << seen);
    check_state(state, exact_state(Row(kScores).first(seen), Row(kValues).first(seen)));
  }
  return state;
}

// All ways to write `total` as an ordered sum of positive parts: 2^(total − 1) splits of a row into tiles.
std::vector<std::vector<std::size_t>> every_split(std::size_t total) {
  if (total == 0) return {{}};
  std::vector<std::vector<std::size_t>> splits;
  for (std::size_t first = 1; first <= total; ++first) {
    for (std::vector<std::size_t> rest : every_split(total - first)) {
      rest.insert(rest.begin(), first);
      splits.push_back(rest);
    }
  }
  return splits;
}

AttentionState state_of(Row scores, Row values) { return lesson::absorb(AttentionState{}, scores, values); }

std::vector<double> as_doubles(AttentionState state) { return {double(state.m), double(state.l), double(state.u)}; }

}  // namespace

// ---- Step 1

TEST_CASE("safe softmax is right for scores of any size", "[step1]") { check_numbers(lesson::safe_softmax); }

TEST_CASE("safe softmax touches each element 4 times: 3 reads, 1 write", "[step1]") {
  check_accesses(lesson::safe_softmax, 3);
}

TEST_CASE("a NaN or +inf makes all of safe softmax NaN", "[step1]") { check_not_a_number(lesson::safe_softmax); }

// ---- Step 2

TEST_CASE("online softmax is right for scores of any size", "[step2]") { check_numbers(lesson::online_softmax); }

TEST_CASE("online softmax touches each element 3 times: 2 reads, 1 write", "[step2]") {
  check_accesses(lesson::online_softmax, 2);
}

TEST_CASE("a NaN or +inf makes all of online softmax NaN", "[step2]") { check_not_a_number(lesson::online_softmax); }

TEST_CASE("a row that is too short is named, and nothing is written", "[step2]") {
  using Catch::Matchers::ContainsSubstring;
  for (const Softmax softmax : {lesson::safe_softmax, lesson::online_softmax}) {
    run(softmax, {1, 2, 3});  // what is right is not rejected
    fa::TrafficMeter meter;
    const std::vector<float> x = {1, 2};
    std::vector<float> y = fa::poisoned(3), y_short = fa::poisoned(1);
    const auto x_in_hbm = meter.buffer("x", x);
    const auto y_in_hbm = meter.buffer("y", y);
    CHECK_THROWS_WITH(softmax(x_in_hbm, y_in_hbm, 3), ContainsSubstring("x has 2 elements"));
    CHECK_THROWS_WITH(softmax(x_in_hbm, meter.buffer("y_short", y_short), 2), ContainsSubstring("y has 1 elements"));
    CHECK_THROWS_AS(softmax(x_in_hbm, y_in_hbm, -1), std::invalid_argument);
    CHECK(meter.total() == fa::Traffic{});
  }
}

// ---- Step 3

TEST_CASE("one tile gives the maximum and the sum of the weights", "[step3]") {
  const std::vector<float> scores{2.0f, 1.0f};
  check_state(lesson::absorb(SoftmaxState{}, scores), {2.0, 1.367879, 0});
}

TEST_CASE("a later tile is measured from the new maximum, whichever tile holds it", "[step3]") {
  const std::vector<float> high{2.0f, 1.0f}, low{0.0f};
  const std::vector<double> both{2.0, 1.503215, 0};
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, high), low), both);
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, low), high), both);
}

TEST_CASE("all scores negative: the maximum does not start at 0", "[step3]") {
  const std::vector<float> scores{-5e4f, -5e4f - 1.0f};
  check_state(lesson::absorb(SoftmaxState{}, scores), {-5e4, 1.367879, 0});
}

TEST_CASE("empty tiles, and tiles of -inf, change nothing", "[step3]") {
  const std::vector<float> masked{-kInfinity, -kInfinity}, one{3.0f};
  check_state(lesson::absorb(SoftmaxState{}, {}), {fa::negative_infinity, 0, 0});
  check_state(lesson::absorb(SoftmaxState{}, masked), {fa::negative_infinity, 0, 0});
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, masked), one), {3, 1, 0});
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, one), masked), {3, 1, 0});
}

TEST_CASE("scores of 1e4 neither overflow nor vanish", "[step3]") {
  const std::vector<float> low{-1e4f, -1e4f}, high{1e4f, 1e4f - 1.0f};
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, low), high), {1e4, 1.367879, 0});
  check_state(lesson::absorb(lesson::absorb(SoftmaxState{}, high), low), {1e4, 1.367879, 0});
}

TEST_CASE("a NaN or +inf stays in the sum, whatever comes after", "[step3]") {
  const std::vector<float> rise{5.0f}, masked{-kInfinity};
  for (const float bad : {kNaN, kInfinity}) {
    const std::vector<float> tile{1.0f, bad}, alone{bad};
    CHECK(std::isnan(lesson::absorb(lesson::absorb(SoftmaxState{}, tile), rise).l));
    CHECK(std::isnan(lesson::absorb(lesson::absorb(SoftmaxState{}, alone), masked).l));
  }
}

// ---- Step 4

TEST_CASE("merging two states is the state of all their scores", "[step4]") {
  const std::vector<float> high{2.0f, 1.0f}, low{0.0f};
  const SoftmaxState a = lesson::absorb(SoftmaxState{}, high), b = lesson::absorb(SoftmaxState{}, low);
  check_state(lesson::merge(a, b), {2.0, 1.503215, 0});
  check_state(lesson::merge(b, a), {2.0, 1.503215, 0});
}

TEST_CASE("the empty state is the identity of the merge, also with itself", "[step4]") {
  const SoftmaxState a{-3.5f, 1.25f};
  check_state(lesson::merge(a, SoftmaxState{}), {-3.5, 1.25, 0});
  check_state(lesson::merge(SoftmaxState{}, a), {-3.5, 1.25, 0});
  check_state(lesson::merge(SoftmaxState{}, SoftmaxState{}), {fa::negative_infinity, 0, 0});
}

// ---- Step 5

TEST_CASE("the worked example, with values", "[step5]") {
  const std::vector<float> high{2.0f, 1.0f}, high_values{1.0f, 3.0f}, low{0.0f}, low_value{5.0f};
  const AttentionState after_high = state_of(high, high_values);
  check_state(after_high, {2.0, 1.367879, 2.103638});
  check_state(lesson::absorb(after_high, low, low_value), {2.0, 1.503215, 2.780315});
}

TEST_CASE("the worked example, tiles reversed: l and u are rescaled by e^-2", "[step5]") {
  const std::vector<float> high{2.0f, 1.0f}, high_values{1.0f, 3.0f}, low{0.0f}, low_value{5.0f};
  const AttentionState after_low = state_of(low, low_value);
  check_state(after_low, {0.0, 1.0, 5.0});
  check_state(lesson::absorb(after_low, high, high_values), {2.0, 1.503215, 2.780315});
}

TEST_CASE("the invariant holds after every tile, for every split of a row into tiles", "[step5]") {
  const std::vector<double> whole = exact_state(kScores, kValues);
  for (const std::vector<std::size_t>& sizes : every_split(kScores.size())) check_state(absorb_tiles(sizes), whole);
}

TEST_CASE("the order of the keys does not matter", "[step5]") {
  const std::vector<double> whole = exact_state(kScores, kValues);
  std::array<std::size_t, 7> order{0, 1, 2, 3, 4, 5, 6};
  do {  // 5040 orders, one key at a time
    AttentionState state;
    for (const std::size_t j : order) {
      state = lesson::absorb(state, Row(kScores).subspan(j, 1), Row(kValues).subspan(j, 1));
    }
    check_state(state, whole);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a shift of all scores moves m by as much, and leaves l and u alone", "[step5]") {
  std::vector<double> expected = exact_state(kScores, kValues);
  const double m = expected[0];
  for (const float shift : {-4096.0f, -64.0f, 64.0f, 4096.0f}) {  // powers of two: little of the scores is rounded away
    std::vector<float> shifted = kScores;
    for (float& score : shifted) score += shift;
    expected = exact_state(shifted, kValues);
    CAPTURE(shift);
    CHECK(std::abs(expected[0] - m - double(shift)) < 1e-3);
    AttentionState state;
    for (std::size_t j = 0; j < shifted.size(); ++j) {
      state = lesson::absorb(state, Row(shifted).subspan(j, 1), Row(kValues).subspan(j, 1));
    }
    check_state(state, expected);
  }
}

TEST_CASE("merging is commutative and associative, and every cut of a row gives the whole", "[step5]") {
  const std::vector<double> whole = exact_state(kScores, kValues);
  for (std::size_t first = 0; first <= kScores.size(); ++first) {
    for (std::size_t second = first; second <= kScores.size(); ++second) {
      const auto part = [&](std::size_t begin, std::size_t end) {
        return state_of(Row(kScores).subspan(begin, end - begin), Row(kValues).subspan(begin, end - begin));
      };
      const AttentionState a = part(0, first), b = part(first, second), c = part(second, kScores.size());
      CAPTURE(first, second);
      check_state(lesson::merge(a, b), as_doubles(lesson::merge(b, a)));
      check_state(lesson::merge(lesson::merge(a, b), c), whole);
      check_state(lesson::merge(a, lesson::merge(b, c)), whole);
    }
  }
}

TEST_CASE("the empty state with values is the identity of the merge, also with itself", "[step5]") {
  const AttentionState a{-3.5f, 1.25f, -6.0f}, empty;
  check_state(lesson::merge(a, empty), as_doubles(a));
  check_state(lesson::merge(empty, a), as_doubles(a));
  check_state(lesson::merge(empty, empty), {fa::negative_infinity, 0, 0});
  check_state(lesson::absorb(empty, {}, {}), {fa::negative_infinity, 0, 0});
}

TEST_CASE("scores and values of different lengths are rejected", "[step5]") {
  const std::vector<float> scores{2.0f, 1.0f}, values{1.0f};
  CHECK_THROWS_WITH(state_of(scores, values), Catch::Matchers::ContainsSubstring("values has 1 elements"));
  check_state(state_of(scores, scores), exact_state(scores, scores));
}

// ---- Step 6

TEST_CASE("the output and log-sum-exp of the worked example", "[step6]") {
  const std::vector<float> scores{2.0f, 1.0f, 0.0f}, values{1.0f, 3.0f, 5.0f};
  const AttentionState state = state_of(scores, values);
  CHECK(std::abs(lesson::output(state) - 1.849579f) < 2e-6f);
  CHECK(std::abs(lesson::log_sum_exp(state) - 2.407606f) < 2e-6f);
}

TEST_CASE("a single key returns its value; equal scores the mean; a score far above the others its value", "[step6]") {
  const std::vector<float> one{-7.0f}, value{2.5f};
  CHECK(lesson::output(state_of(one, value)) == 2.5f);
  const std::vector<float> equal{-2.0f, -2.0f, -2.0f, -2.0f}, values{1.0f, 2.0f, 4.0f, 9.0f};
  CHECK(lesson::output(state_of(equal, values)) == 4.0f);
  const std::vector<float> one_hot{0.0f, 500.0f, -500.0f, 3.0f};
  CHECK(lesson::output(state_of(one_hot, values)) == 2.0f);
}

TEST_CASE("log-sum-exp is right to 1e-6 at scores of 1e3, positive and negative", "[step6]") {
  for (const float base : {-1e3f, 0.5f, 1e3f}) {
    const std::vector<float> scores{base, base + 1.0f, base - 2.0f};
    const double exact = double(base) + std::log(1.0 + std::exp(1.0) + std::exp(-2.0));
    CAPTURE(base, exact);
    CHECK(std::abs(double(lesson::log_sum_exp(state_of(scores, scores))) / exact - 1.0) < 1e-6);
  }
}

TEST_CASE("no key: the output is 0 and log-sum-exp is -inf", "[step6]") {
  CHECK(lesson::output({}) == 0.0f);
  CHECK(lesson::log_sum_exp({}) == -kInfinity);
  const std::vector<float> masked{-kInfinity, -kInfinity}, values{1.0f, 2.0f};
  CHECK(lesson::output(state_of(masked, values)) == 0.0f);
  CHECK(lesson::log_sum_exp(state_of(masked, values)) == -kInfinity);
}

TEST_CASE("a NaN, or a score of +inf, reaches the output", "[step6]") {
  const std::vector<float> values{1.0f, 2.0f}, bad_values{1.0f, kNaN}, scores{0.0f, 1.0f};
  for (const float bad : {kNaN, kInfinity}) {
    const std::vector<float> bad_scores{0.0f, bad};
    CHECK(std::isnan(lesson::output(state_of(bad_scores, values))));
    CHECK(std::isnan(lesson::log_sum_exp(state_of(bad_scores, values))));
  }
  CHECK(std::isnan(lesson::output(state_of(scores, bad_values))));
}
