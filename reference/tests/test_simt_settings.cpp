// The environment variables of the emulator.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "simt_support.h"

namespace {

using fa::simt::Order;
using fa::simt::Settings;

constexpr const char* kVariables[] = {"FA_SIMT_CHECKS", "FA_SIMT_WORKERS", "FA_SIMT_ORDER", "FA_SIMT_SHARED",
                                      "FA_SIMT_BANKS"};

// The settings when `variable` has `value`, and no other variable is set.
Settings settings_with(const char* variable, const char* value) {
  fa::simt::settings();  // for the other tests: what the environment said before
  for (const char* each : kVariables) unsetenv(each);
  if (variable != nullptr) setenv(variable, value, 1);
  const auto clear = [&] {
    if (variable != nullptr) unsetenv(variable);
  };
  try {
    const Settings result = fa::simt::settings_from_environment();
    clear();
    return result;
  } catch (...) {
    clear();
    throw;
  }
}

void check_default(const Settings& settings) {
  CHECK(settings.checks);
  CHECK(settings.order == Order::forward);
  CHECK(settings.shared_bytes_per_block == 232'448);
  CHECK_FALSE(settings.banks);
  CHECK(settings.workers >= 1);
  CHECK(settings.workers <= 16);
  CHECK(settings.workers <= int(std::thread::hardware_concurrency()));
}

}  // namespace

TEST_CASE("without variables, all is checked, forward, on the cores of the machine") {
  check_default(settings_with(nullptr, nullptr));
}

TEST_CASE("an empty variable is as good as none") {
  for (const char* name : kVariables) check_default(settings_with(name, ""));
}

TEST_CASE("each variable sets what it says") {
  CHECK_FALSE(settings_with("FA_SIMT_CHECKS", "off").checks);
  CHECK(settings_with("FA_SIMT_CHECKS", "on").checks);
  CHECK(settings_with("FA_SIMT_BANKS", "on").banks);
  CHECK_FALSE(settings_with("FA_SIMT_BANKS", "off").banks);
  CHECK(settings_with("FA_SIMT_WORKERS", "1").workers == 1);
  CHECK(settings_with("FA_SIMT_WORKERS", "1024").workers == 1024);
  CHECK(settings_with("FA_SIMT_ORDER", "forward").order == Order::forward);
  CHECK(settings_with("FA_SIMT_ORDER", "backward").order == Order::backward);
  const Settings shuffled = settings_with("FA_SIMT_ORDER", "shuffled:18446744073709551615");
  CHECK(shuffled.order == Order::shuffled);
  CHECK(shuffled.seed == 18'446'744'073'709'551'615u);
  CHECK(settings_with("FA_SIMT_SHARED", "65536").shared_bytes_per_block == 65'536);
  CHECK(settings_with("FA_SIMT_SHARED", "0").shared_bytes_per_block == 0);
}

TEST_CASE("a value that is not understood is rejected by the name of its variable") {
  const auto rejects = [](const char* variable, const char* value, const std::string& allowed) {
    fa::check_rejects([&] { settings_with(variable, value); },
                      std::string(variable) + " = '" + value + "': must be " + allowed);
  };
  for (const char* value : {"yes", "0", "OFF", "off ", " on"}) rejects("FA_SIMT_CHECKS", value, "on or off");
  for (const char* value : {"1", "yes"}) rejects("FA_SIMT_BANKS", value, "on or off");
  for (const char* value : {"0", "-1", "1025", "two", "2x", "1.5", "99999999999999999999"}) {
    rejects("FA_SIMT_WORKERS", value, "a number from 1 to 1024");
  }
  for (const char* value :
       {"random", "shuffled", "shuffled:", "shuffled:x", "shuffled:-1", "backwards", "shuffled:18446744073709551616"}) {
    rejects("FA_SIMT_ORDER", value, "forward, backward or shuffled:SEED");
  }
  for (const char* value : {"-1", "64k", "134217729"}) rejects("FA_SIMT_SHARED", value, "a number of bytes");
}

TEST_CASE("a program ends before its first test if a value is not understood") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "FA_SIMT_ORDER=sideways '" + program + "' 2>&1";
  std::string said;
  std::FILE* const output = popen(command.c_str(), "r");
  REQUIRE(output != nullptr);
  for (int letter = std::fgetc(output); letter != EOF; letter = std::fgetc(output)) said += char(letter);
  CHECK(pclose(output) != 0);
  CHECK(said == "error: FA_SIMT_ORDER = 'sideways': must be forward, backward or shuffled:SEED\n");
}

TEST_CASE("the device says what the settings say") {
  fa::simt::Settings changed;
  changed.workers = 3;
  changed.shared_bytes_per_block = 50'000;
  const fa::simt::With settings(changed);
  CHECK(fa::device().multiprocessors == 3);
  CHECK(fa::device().shared_bytes_per_block == 50'000);
  CHECK(fa::device().emulated);
  CHECK(fa::device().memory_bytes > 0);
  CHECK(fa::device_available());
}
