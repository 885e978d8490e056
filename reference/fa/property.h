// Random tests: a property is tried on many small cases that are drawn from a seed, and the first case that breaks it
// is made smaller for as long as it still does.
//
//   FA_RANDOM_CASES=5000       so many cases in place of the default
//   FA_RANDOM_SEED=7           other cases
//   FA_RANDOM_CASE="1 2 ..."   this case alone, as a failure prints it

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fa/random_case.h"
#include "fa/shape.h"

namespace fa {

// Empty if the property holds, else what is wrong.
using Property = std::function<std::string(const RandomCase&)>;

struct BrokenProperty {
  RandomCase smallest;  // that was found
  std::string message;  // of the smallest
  Index number = 0;     // of the first case that failed, from 1
  Index tried = 0;      // cases that were tried to make it smaller
};

// Stops at the first case that breaks the property, or that makes it throw. NotStarted passes through.
std::optional<BrokenProperty> find_broken(const CaseSpace& space, Index cases, std::uint64_t seed,
                                          const Property& property);

// Fails the test case, once, with the smallest case that was found; passes if there is none. `cases`: by default. Under
// the sanitizers there are a tenth of them.
void check_random_cases(const CaseSpace& space, Index cases, const Property& property);

}  // namespace fa
