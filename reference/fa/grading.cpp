#include "fa/grading.h"

#include <algorithm>
#include <catch2/catch_assertion_result.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "fa/sandbox.h"

// The sanitizers are not ready as early as `begin` is called.
#if defined(__linux__) && !defined(FA_SANITIZE)
#define FA_GRADES 1
#include <unistd.h>
#endif

namespace {

bool body_has_ended = false;

}  // namespace

void fa::grading::body_ended() { body_has_ended = true; }

#ifdef FA_GRADES
namespace {

constexpr std::size_t kMostMessage = 1000;  // bytes

char tokens[1 << 15];  // lines "token name", as they came
std::size_t tokens_size = 0;
int answers = -1;  // where to write; -1: this is no grading

void answer(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = write(answers, line.data(), line.size());
    if (written <= 0) return;
    line.remove_prefix(std::size_t(written));
  }
}

// Before the constructors of global variables, those of the submission among them: no C++ library yet.
void begin(int, char**, char** environment) {
  constexpr std::string_view variable = "FA_GRADING=";
  int from = -1;
  for (char** one = environment; *one != nullptr; ++one) {
    if (std::string_view(*one).starts_with(variable)) std::sscanf(*one + variable.size(), "%d,%d", &from, &answers);
  }
  if (answers < 0) return;
  ssize_t got = 0;
  while ((got = read(from, tokens + tokens_size, sizeof tokens - tokens_size)) > 0) tokens_size += std::size_t(got);
  close(from);
  if (const int error = fa::enter_sandbox(); error != 0) {
    char said[64];
    std::snprintf(said, sizeof said, "no sandbox: %s\n", std::strerror(error));
    answer(said);
    _exit(EXIT_FAILURE);
  }
  answer("ready\n");
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const begin_first)(int, char**, char**) = begin;

// "token\n" of a test, or nothing.
std::string token_of(std::string_view name) {
  std::string_view rest(tokens, tokens_size);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t space = line.find(' ');
    if (line.substr(space + 1) == name) return std::string(line.substr(0, space)) + '\n';
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return "";
}

std::string told(const Catch::AssertionResult& result) {
  if (result.hasMessage()) return std::string(result.getMessage());
  const std::string expression = result.getExpressionInMacro(), expanded = result.getExpandedExpression();
  return expression + (expanded == result.getExpression() ? " is false" : ": got " + expanded);
}

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char one : text.substr(0, kMostMessage)) one == '\n' ? line += "\\n" : line += one;
  return line;
}

class Voucher : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    if (answers < 0) return;
    name_ = test.name;
    failed_ = left_ = false;
    answer("began " + name_ + '\n');
  }
  void testCasePartialStarting(const Catch::TestCaseInfo&, std::uint64_t) override { body_has_ended = false; }
  void testCasePartialEnded(const Catch::TestCaseStats&, std::uint64_t) override {
    if (!body_has_ended) left_ = true;
  }
  void assertionEnded(const Catch::AssertionStats& stats) override {
    if (answers < 0 || stats.assertionResult.isOk() || failed_) return;
    failed_ = true;
    answer("failed " + name_ + '\t' + in_one_line(told(stats.assertionResult)) + '\n');
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const Catch::Counts& assertions = stats.totals.assertions;
    if (answers >= 0 && !left_ && assertions.allPassed() && assertions.total() > 0) answer(token_of(name_));
  }

 private:
  std::string name_;
  bool failed_ = false, left_ = false;
};

}  // namespace

CATCH_REGISTER_LISTENER(Voucher)
#endif
