// What the tests of the emulator share: settings for a while, and the message of a fault.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "fa/device.h"
#include "fa/testing.h"
#include "simt/settings.h"

namespace fa::simt {

// Sets the settings; at the end of its life they are what they were.
class With {
 public:
  explicit With(const Settings& settings_now) { settings() = settings_now; }
  ~With() { settings() = before_; }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  Settings before_ = settings();
};

inline Settings with_workers(int workers) {
  Settings result;
  result.workers = workers;
  return result;
}

// Calls it with the threads of a block in each order, and with two blocks at a time.
template <class Call>
void in_each_order(Call call) {
  for (const auto& [name, order, seed, workers] :
       {std::tuple{"forward", Order::forward, 1u, 1}, std::tuple{"backward", Order::backward, 1u, 1},
        std::tuple{"shuffled:1", Order::shuffled, 1u, 1}, std::tuple{"shuffled:2", Order::shuffled, 2u, 1},
        std::tuple{"shuffled:3, two workers", Order::shuffled, 3u, 2}}) {
    INFO("order " << name);
    const With settings_now({.workers = workers, .order = order, .seed = seed});
    call();
  }
}

// The message of the KernelFault that `call` throws, or "" if it throws none.
template <class Call>
std::string fault_of(Call call) {
  try {
    call();
  } catch (const KernelFault& fault) {
    return fault.what();
  }
  return "";
}

// Fails the test unless `call` throws a KernelFault whose message has each of these texts in it.
template <class Call>
void check_fault(Call call, std::initializer_list<std::string> texts) {
  const std::string message = fault_of(call);
  for (const std::string& text : texts) CHECK_THAT(message, Catch::Matchers::ContainsSubstring(text));
}

// 0, 1, 2, ...
template <class T = float>
std::vector<T> counting_up(int count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (int at = 0; at < count; ++at) values[static_cast<std::size_t>(at)] = static_cast<T>(at);
  return values;
}

}  // namespace fa::simt
