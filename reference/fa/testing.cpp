// Linked into every lesson's test binary.

#include "fa/testing.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_translate_exception.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "fa/scratch.h"
#include "fa/todo.h"

// "exercise exercises/01_naive_attention/attention_forward.cpp": defined in implementation.cpp, once for each binary.
extern const char* const fa_implementation;

namespace {

bool tests_ended = false;

// exit() during a test would take Catch2 apart while it runs, and look like a crash.
void leave_at_once() {
  if (!tests_ended) std::_Exit(EXIT_FAILURE);
}

void guard_working_memory() {
#ifndef FA_SANITIZE  // which sees more if the heap is as it is without guards
  // As many floats as a tile of the tests' tiles is larger than another, or as there are keys before it.
  constexpr fa::Index elements = 2048;
  fa::Scratch::guard_arrays({elements, [](const std::string& message) { FAIL_CHECK(message); }});
#endif
}

// Which implementation this binary was linked with, said on stderr at each start: so nobody tests the solution and
// believes it was the exercise.
class ImplementationAnnouncer : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {
    std::cerr << "implementation: " << fa_implementation << '\n';
    std::atexit(leave_at_once);
    guard_working_memory();
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what a test has printed is not lost when it crashes
  }
  void testRunEnded(const Catch::TestRunStats&) override { tests_ended = true; }
};

}  // namespace

CATCH_REGISTER_LISTENER(ImplementationAnnouncer)

CATCH_TRANSLATE_EXCEPTION(const fa::NotStarted& exception) { return exception.what(); }
