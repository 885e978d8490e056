// Linked into the test binaries of .cu files in a build for a GPU: without a GPU they are skipped, and never passed. So
// they are where the GPU is too old.

#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "fa/device.h"

// 80 for compute capability 8.0: defined in fa/implementation.cpp, once for each binary.
extern const int fa_least_architecture;

namespace {

// What Catch2 itself returns when every test was skipped, and what CTest is told to expect.
constexpr int kSkipped = 4;

class SkipWithoutDevice : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {  // not reached by --list-tests
    std::string reason;
    if (fa::device_available(&reason)) reason = why_too_old();
    if (reason.empty()) return;
    std::cerr << "skipped: no CUDA device: " << reason << std::endl;
    std::_Exit(kSkipped);
  }

 private:
  static std::string why_too_old() {
    const auto text = [](int capability) {
      return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
    };
    const fa::DeviceInfo& device = fa::device();
    if (device.compute_capability >= fa_least_architecture) return "";
    return "compute capability " + text(fa_least_architecture) + " or newer is needed, and " + device.name + " has " +
           text(device.compute_capability);
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SkipWithoutDevice)
