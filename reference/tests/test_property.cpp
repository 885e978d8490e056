#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fa/attention_property.h"
#include "fa/property.h"
#include "fa/scratch.h"
#include "fa/testing.h"
#include "fa/todo.h"

namespace {

const fa::CaseSpace kSpace{.B = {1, 3}, .Nk = {0, 100}, .Br = {16, 64, 16}, .Bc = {1, 40}, .flaws = 3};

std::string broken_if(bool broken) { return broken ? "broken" : ""; }

}  // namespace

TEST_CASE("property: shrinking ends at the smallest case that fails") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    const auto broken = fa::find_broken(kSpace, 1000, seed, [](const fa::RandomCase& one) {
      return broken_if(one.shape.Nk > 16 && one.options.causal);
    });
    REQUIRE(broken);
    const fa::RandomCase& least = broken->smallest;
    CHECK(fa::numbers_of(least) == "1 0 0 0 1 1 0 17 1 16 1 " + std::to_string(least.seed));
    CHECK(broken->message == "broken");
    CHECK(broken->tried < 200);
  }
}

TEST_CASE("property: shrinking keeps what the fault needs: a kind, a scale, a flaw, a tile, two extents at once") {
  const auto broken = fa::find_broken(kSpace, 100'000, 1, [](const fa::RandomCase& one) {
    const bool needed = one.kind == fa::CaseInputs::infinite_keys && one.options.scale == 0.0f && one.flaw == 2;
    return broken_if(needed && one.tiles.Br >= 40 && one.shape.Nq * one.shape.D >= 6);
  });
  REQUIRE(broken);
  CHECK(broken->smallest.kind == fa::CaseInputs::infinite_keys);
  CHECK(broken->smallest.options.scale == 0.0f);
  CHECK(broken->smallest.flaw == 2);
  CHECK(broken->smallest.tiles.Br == 48);  // in steps of 16
  CHECK(broken->smallest.shape.Nq * broken->smallest.shape.D == 6);
  CHECK(broken->smallest.shape.Nk == 0);
}

TEST_CASE("property: the message is that of the smallest case, and the first failing case is counted") {
  fa::Index calls = 0;
  const auto broken = fa::find_broken(kSpace, 1000, 1, [&](const fa::RandomCase& one) {
    return ++calls < 7 || one.shape.Nk < 2 ? "" : "Nk is " + std::to_string(one.shape.Nk);
  });
  REQUIRE(broken);
  CHECK(broken->number == 7);
  CHECK(broken->message == "Nk is 2");
  CHECK(calls == 7 + broken->tried);
}

TEST_CASE("property: an exception breaks it, but what is not started stays so") {
  const auto broken = fa::find_broken(
      kSpace, 10, 1, [](const fa::RandomCase&) -> std::string { throw std::runtime_error("out of bounds"); });
  REQUIRE(broken);
  CHECK(broken->message == "it throws: out of bounds");
  CHECK_THROWS_AS(fa::find_broken(kSpace, 10, 1, [](const fa::RandomCase&) -> std::string { fa::todo("Step 1"); }),
                  fa::NotStarted);
}

#ifndef FA_SANITIZE  // which has no guards
TEST_CASE("property: a write past the end of an array breaks it") {
  const auto broken = fa::find_broken(kSpace, 1000, 1, [](const fa::RandomCase& one) {
    fa::Scratch scratch;
    auto array = scratch.allocate<float>("S", 20);
    array.data()[one.shape.Nk] = 1.0f;
    return std::string();
  });
  REQUIRE(broken);
  CHECK(broken->smallest.shape.Nk == 20);
  CHECK(broken->message == "scratch: 'S' of 20 elements was written past its end");
}
#endif

TEST_CASE("property: a property that holds is tried as often as asked, on cases from all of the space") {
  std::set<fa::Index> B, Nk, Br, flaws, kinds;
  fa::Index calls = 0, flawed = 0;
  CHECK_FALSE(fa::find_broken(kSpace, 5000, 1, [&](const fa::RandomCase& one) {
    ++calls;
    flawed += one.flaw > 0;
    B.insert(one.shape.B), Nk.insert(one.shape.Nk), Br.insert(one.tiles.Br), flaws.insert(one.flaw);
    kinds.insert(fa::Index(one.kind));
    return std::string();
  }));
  CHECK(calls == 5000);
  CHECK(B == std::set<fa::Index>{1, 2, 3});
  CHECK((*Nk.begin() == 0 && *Nk.rbegin() == 100 && Nk.size() == 101));
  CHECK(Br == std::set<fa::Index>{16, 32, 48, 64});
  CHECK(flaws == std::set<fa::Index>{0, 1, 2, 3});
  CHECK(kinds.size() == 7);
  CHECK((flawed > 5000 / 16 && flawed < 5000 / 4));
}

TEST_CASE("property: the numbers of a case give the case again, and others are rejected") {
  std::mt19937_64 bits(3);
  for (int round = 0; round < 100; ++round) {
    const std::string numbers = fa::numbers_of(fa::draw_case(bits, kSpace));
    CHECK(fa::numbers_of(fa::case_of(numbers, kSpace)) == numbers);
  }
  const auto rejects = [](const char* numbers, const char* text) {
    fa::check_rejects([&] { fa::case_of(numbers, kSpace); }, text);
  };
  CHECK(fa::case_of("1 0 0 0 1 1 0 17 1 16 1 5", kSpace).shape.Nk == 17);
  rejects("1 0 0 0 1 1 0 101 1 16 1 5", "number 8, Nk, must be from 0 to 100");
  rejects("1 0 0 0 1 1 0 17 1 17 1 5", "number 10, Br, must be from 16 to 64 in steps of 16");
  rejects("1 0 0 0 1 1 0 17 1 16 1", "number 12, seed");
  rejects("1 0 0 0 1 1 0 17 1 16 1 5 6", "must be 12 numbers");
  rejects("one", "number 1, causal");
}

TEST_CASE("property: a case in words has the tiles that the lesson has, and no others") {
  const fa::RandomCase one{.shape = {.B = 1, .H = 2, .Nq = 3, .Nk = 4, .D = 5}, .tiles = {.Br = 6, .Bc = 7}, .seed = 8};
  const std::string start = "B=1 H=2 Nq=3 Nk=4 D=5, not causal", end = ", inputs: normal, seed 8";
  CHECK(fa::describe(one, {}) == start + end);
  CHECK(fa::describe(one, {.Bc = {1, 9}}) == start + ", Bc=7" + end);
  CHECK(fa::describe(one, kSpace) == start + ", Br=6, Bc=7" + end);
}

TEST_CASE("property: inputs of each kind are what they are called") {
  fa::RandomCase one{.shape = {.B = 1, .H = 2, .Nq = 5, .Nk = 40, .D = 3}};
  one.kind = fa::CaseInputs::unit_values;
  CHECK(one.inputs().v == std::vector<float>(240, 1.0f));
  one.kind = fa::CaseInputs::all_negative;
  const fa::Inputs negative = one.inputs();
  CHECK(std::ranges::all_of(negative.q, [](float value) { return value >= 0.5f; }));
  CHECK(std::ranges::all_of(negative.k, [](float value) { return value <= -100.0f; }));
  one.kind = fa::CaseInputs::infinite_keys;
  const fa::Inputs infinite = one.inputs();
  const auto count = std::ranges::count(infinite.k, -fa::infinity);
  CHECK((count > 10 && count < 60));
  CHECK(std::ranges::all_of(infinite.q, [](float value) { return value >= 0.5f; }));
}

TEST_CASE("property: a wrong argument is one that fa::validate rejects, and is named") {
  std::set<std::string> named;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const fa::WrongArgument wrong = fa::wrong_argument({.seed = seed}, true);
    named.insert(wrong.text.substr(0, wrong.text.find(' ')));
    fa::check_rejects(
        [&] {
          fa::validate(wrong.shape, wrong.options);
          fa::validate(wrong.tiles);
        },
        wrong.text);
  }
  CHECK(named == std::set<std::string>{"B", "H", "Nq", "Nk", "D", "scale", "Br", "Bc"});
}

// ---- What attention promises

namespace {

using Change = void (*)(fa::ForwardResult&, const fa::Shape&);

// The oracle as a function under test, with a fault planted.
std::string fault_of(const fa::RandomCase& one, Change change) {
  return fa::forward_fault(
      one, one.inputs(), [&](const auto& inputs, const auto& shape, const auto& options, const auto&) {
        const fa::ForwardOracle oracle = fa::attention_forward_oracle(inputs.q, inputs.k, inputs.v, shape, options);
        fa::ForwardResult result{.out = {oracle.out.begin(), oracle.out.end()},
                                 .lse = {oracle.lse.begin(), oracle.lse.end()}};
        change(result, shape);
        return result;
      });
}

}  // namespace

TEST_CASE("property: the oracle has no fault, and planted ones are found") {
  const fa::Shape shape{.B = 1, .H = 2, .Nq = 4, .Nk = 5, .D = 3};
  const fa::RandomCase one{.options = {.causal = true}, .shape = shape, .seed = 3};  // which compares a row, too
  CHECK(fault_of(one, [](auto&, auto&) {}).empty());
  CHECK(fault_of(one, [](auto& result, auto&) { result.out[0] += 1e-3f; }).starts_with("out[b=0, h=0, i=0, d=0]"));
  CHECK(fault_of(one, [](auto& result, auto&) { result.lse[0] += 1e-3f; }).starts_with("lse[b=0"));
  CHECK(fault_of(one, [](auto& result, auto& of) {
          if (of.Nq == 1) result.out[0] += 1e-3f;
        }).starts_with("out of row 3, with the keys alone that it sees"));
  static int calls;
  calls = 0;
  CHECK(fault_of(one, [](auto& result, auto&) {
          if (++calls == 4) result.out[0] += 1e-3f;  // after the whole, the row, and the whole before the shift
        }).starts_with("out, with all keys shifted"));
}

TEST_CASE("property: gradients of the oracle have no fault, and planted ones are found") {
  const fa::RandomCase one{.shape = {.B = 1, .H = 2, .Nq = 4, .Nk = 5, .D = 3}, .seed = 3};
  static int calls, wrong_call;
  const auto fault = [&](std::vector<float> fa::BackwardResult::* gradient, int at_call) {
    calls = 0, wrong_call = at_call;
    return fa::backward_fault(
        one, one.inputs(), [&](const auto& in, const auto& shape, const auto& options, const auto&) {
          const fa::BackwardOracle oracle = fa::attention_backward_oracle(in.q, in.k, in.v, in.dout, shape, options);
          fa::BackwardResult result{.dq = {oracle.dq.begin(), oracle.dq.end()},
                                    .dk = {oracle.dk.begin(), oracle.dk.end()},
                                    .dv = {oracle.dv.begin(), oracle.dv.end()}};
          if (++calls == wrong_call) (result.*gradient)[0] *= 1.01f;
          return result;
        });
  };
  CHECK(fault(&fa::BackwardResult::dq, 0).empty());
  CHECK(fault(&fa::BackwardResult::dq, 1).starts_with("dq[b=0"));
  CHECK(fault(&fa::BackwardResult::dk, 1).starts_with("dk[b=0"));
  CHECK(fault(&fa::BackwardResult::dv, 1).starts_with("dv[b=0"));
  CHECK(fault(&fa::BackwardResult::dq, 2).starts_with("dq of twice dout"));
}

TEST_CASE("property: what is accepted, rejected in other words, or written is told") {
  const auto fault = [](auto call) { return fa::accepted_fault<std::invalid_argument>(call, "Nq = -1"); };
  CHECK(fault([] { throw std::invalid_argument("Nq = -1: must be at least 0"); }).empty());
  CHECK(fault([] {}).starts_with("accepted"));
  CHECK(fault([] { throw std::invalid_argument("bad"); }) == "the rejection says 'bad', without 'Nq = -1'");
  CHECK_THROWS_AS(fault([] { throw std::length_error("Nq = -1"); }), std::length_error);
  CHECK(fa::written_fault("out", fa::poisoned(3)).empty());
  CHECK(fa::written_fault("out", std::vector<float>{fa::poison(), 0.0f}) ==
        "out was written, although the call was rejected");
  CHECK(fa::traffic_fault({1, 2}, {1, 2}).empty());
  CHECK(fa::traffic_fault({1, 2}, {1, 3}) == "bytes: counted 1 read and 2 written, the formula says 1 and 3");
}
