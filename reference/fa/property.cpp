#include "fa/property.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <exception>
#include <random>
#include <sstream>
#include <stdexcept>

#include "fa/scratch.h"
#include "fa/todo.h"

namespace fa {
namespace {

// What a guard of fa::Scratch says belongs to the case that ran, not to the test as a whole.
class GuardsTellCase {
 public:
  GuardsTellCase() : before_(Scratch::guard_arrays({})) {
    said_.clear();
    if (before_.report != nullptr) {
      Scratch::guard_arrays({before_.elements, [](const std::string& message) { said_ = message; }});
    }
  }
  GuardsTellCase(const GuardsTellCase&) = delete;
  GuardsTellCase& operator=(const GuardsTellCase&) = delete;
  ~GuardsTellCase() { Scratch::guard_arrays(before_); }
  const std::string& said() const { return said_; }

 private:
  static inline std::string said_;
  ScratchGuards before_;
};

std::string outcome(const Property& property, const RandomCase& one) {
  const GuardsTellCase guards;
  std::string message;
  try {
    message = property(one);
  } catch (const NotStarted&) {
    throw;
  } catch (const std::exception& error) {
    message = std::string("it throws: ") + error.what();
  }
  return guards.said().empty() ? message : guards.said();
}

// Takes the first smaller case that fails, too. False if there is none.
bool shrink(BrokenProperty& broken, const CaseSpace& space, const Property& property) {
  for (const RandomCase& one : smaller_cases(broken.smallest, space)) {
    ++broken.tried;
    std::string message = outcome(property, one);
    if (message.empty()) continue;
    broken.smallest = one;
    broken.message = std::move(message);
    return true;
  }
  return false;
}

// The number that a variable of the environment holds, or nothing. Throws std::invalid_argument.
std::optional<Index> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::istringstream stream(text);
  Index value = 0;
  if (stream >> value && stream.eof() && value >= 1) return value;
  throw std::invalid_argument(std::string(name) + " = " + text + ": must be a whole number, at least 1");
}

std::string told(const BrokenProperty& broken, const CaseSpace& space) {
  return describe(broken.smallest, space) + "\n" + broken.message + "\nThis case alone: FA_RANDOM_CASE=\"" +
         numbers_of(broken.smallest) + "\"";
}

}  // namespace

std::optional<BrokenProperty> find_broken(const CaseSpace& space, Index cases, std::uint64_t seed,
                                          const Property& property) {
  std::mt19937_64 bits(seed);
  for (Index number = 1; number <= cases; ++number) {
    const RandomCase one = draw_case(bits, space);
    BrokenProperty broken{.smallest = one, .message = outcome(property, one), .number = number};
    if (broken.message.empty()) continue;
    while (shrink(broken, space, property)) {
    }
    return broken;
  }
  return std::nullopt;
}

void check_random_cases(const CaseSpace& space, Index cases, const Property& property) {
#ifdef FA_SANITIZE
  cases /= 10;
#endif
  if (const char* text = std::getenv("FA_RANDOM_CASE")) {
    const RandomCase one = case_of(text, space);
    const std::string message = outcome(property, one);
    if (message.empty()) SUCCEED();
    if (!message.empty()) FAIL_CHECK(describe(one, space) << "\n" << message);
    return;
  }
  cases = number_from_environment("FA_RANDOM_CASES").value_or(cases);
  const Index seed = number_from_environment("FA_RANDOM_SEED").value_or(1);
  const std::optional<BrokenProperty> broken = find_broken(space, cases, static_cast<std::uint64_t>(seed), property);
  if (!broken) {
    SUCCEED();
    return;
  }
  FAIL_CHECK("Case " << broken->number << " of " << cases << " fails. Made smaller, in " << broken->tried
                     << " attempts, it is\n"
                     << told(*broken, space));
}

}  // namespace fa
