// A test program that ./course grade runs vouches for each test that passed by a token, which a submission cannot know.
//
// In FA_GRADING="3,4" stand two open pipes: from the first one come lines "token name of a test", to the second one go
// the answers, a line each:
//
//   ready                    before anything of the submission has run
//   began NAME               of a test
//   failed NAME \t MESSAGE   the first thing wrong in it; "\n" for a new line
//   TOKEN                    the test of this token ran to its end, and every assertion in it held
//
// The tokens are read before the first constructor of a global variable; then the process enters the sandbox. Without
// FA_GRADING nothing of this happens.

#pragma once

namespace fa::grading {

// Called behind the body of a test. Catch2 takes a body that is left by its own exceptions for one that has passed, if
// no assertion in it failed, and a submission can throw them, too.
void body_ended();

}  // namespace fa::grading

// Catch2's TEST_CASE, with the call behind the body.
#undef TEST_CASE
#define TEST_CASE(...) FA_TEST_CASE(INTERNAL_CATCH_UNIQUE_NAME(fa_test_body_), __VA_ARGS__)
#define FA_TEST_CASE(body, ...)          \
  static void body();                    \
  INTERNAL_CATCH_TESTCASE(__VA_ARGS__) { \
    body();                              \
    fa::grading::body_ended();           \
  }                                      \
  static void body()
