// Linked into the test binaries of .cu files in a build for a GPU: without a GPU they are skipped, and never passed.

#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "fa/device.h"

namespace {

// What Catch2 itself returns when every test was skipped, and what CTest is told to expect.
constexpr int kSkipped = 4;

class SkipWithoutDevice : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {  // not reached by --list-tests
    std::string reason;
    if (fa::device_available(&reason)) return;
    std::cerr << "skipped: no CUDA device: " << reason << std::endl;
    std::_Exit(kSkipped);
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SkipWithoutDevice)
