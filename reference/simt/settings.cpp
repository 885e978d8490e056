#include "simt/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace fa::simt {
namespace {

[[noreturn]] void reject(const char* variable, std::string_view value, const char* allowed) {
  throw std::invalid_argument(std::string(variable) + " = '" + std::string(value) + "': must be " + allowed);
}

std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// Whether all of `text` is a number from `least` to `most`; then it is stored.
template <class Number>
bool parse(std::string_view text, Number least, Number most, Number& number) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size() || parsed < least || parsed > most) return false;
  number = parsed;
  return true;
}

void read_switch(const char* variable, bool& on) {
  const std::string_view value = environment(variable);
  if (value.empty()) return;
  if (value != "on" && value != "off") reject(variable, value, "on or off");
  on = value == "on";
}

bool parse_order(std::string_view text, Settings& result) {
  constexpr std::string_view shuffled = "shuffled:";
  if (text == "forward") {
    result.order = Order::forward;
  } else if (text == "backward") {
    result.order = Order::backward;
  } else if (text.starts_with(shuffled)) {
    result.order = Order::shuffled;
    return parse(text.substr(shuffled.size()), std::uint64_t{0}, ~std::uint64_t{0}, result.seed);
  } else {
    return false;
  }
  return true;
}

Settings settings_or_exit() {
  try {
    return settings_from_environment();
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace

Settings settings_from_environment() {
  // A worker may need 1024 stacks, each of them two areas of memory; Linux gives 65,530 areas to a process.
  constexpr int most_workers = 16;
  Settings result;
  result.workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_workers);

  read_switch("FA_SIMT_CHECKS", result.checks);
  read_switch("FA_SIMT_BANKS", result.banks);
  if (const std::string_view value = environment("FA_SIMT_WORKERS"); !value.empty()) {
    if (!parse(value, 1, 1024, result.workers)) reject("FA_SIMT_WORKERS", value, "a number from 1 to 1024");
  }
  if (const std::string_view value = environment("FA_SIMT_ORDER"); !value.empty()) {
    if (!parse_order(value, result)) reject("FA_SIMT_ORDER", value, "forward, backward or shuffled:SEED");
  }
  if (const std::string_view value = environment("FA_SIMT_SHARED"); !value.empty()) {
    constexpr Index most = Index{1} << 27;
    if (!parse(value, Index{0}, most, result.shared_bytes_per_block)) {
      reject("FA_SIMT_SHARED", value, "a number of bytes from 0 to 2^27");
    }
  }
  return result;
}

Settings& settings() {
  static Settings current = settings_or_exit();
  return current;
}

namespace {
// Before main(), so that a mistake in the environment is said once, and not by each test.
[[maybe_unused]] const Settings& read_at_start = settings();
}  // namespace

}  // namespace fa::simt
