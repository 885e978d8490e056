// Flags of the demo programs, which tools/course calls: pairs of a name and a value. And numbers as JSON.

#pragma once

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "fa/shape.h"

namespace demo {

// JSON has no infinities and no NaN: they become strings.
inline std::string json(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

class Arguments {
 public:
  // Throws std::invalid_argument for a flag that is not among `allowed`, or has no value.
  Arguments(int argc, char** argv, std::initializer_list<const char*> allowed) {
    for (int at = 1; at < argc; at += 2) {
      bool known = false;
      for (const char* name : allowed) known = known || name == std::string(argv[at]);
      if (!known) throw std::invalid_argument("unknown flag " + std::string(argv[at]));
      if (at + 1 == argc) throw std::invalid_argument(std::string(argv[at]) + " needs a value");
      values_[argv[at]] = argv[at + 1];
    }
  }

  fa::Index integer(const std::string& name, fa::Index otherwise) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(found->second.c_str(), &end, 10);
    if (found->second.empty() || *end != '\0' || errno != 0) reject(name, found->second, "a whole number of 64 bits");
    return value;
  }

  // Numbers with commas between them, at least one.
  std::vector<float> numbers(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument(name + " is missing");
    std::vector<float> result;
    const char* text = found->second.c_str();
    while (true) {
      char* end = nullptr;
      result.push_back(std::strtof(text, &end));
      if (end == text || (*end != ',' && *end != '\0')) reject(name, found->second, "numbers with commas between them");
      if (*end == '\0') return result;
      text = end + 1;
    }
  }

 private:
  [[noreturn]] static void reject(const std::string& name, const std::string& value, const std::string& allowed) {
    throw std::invalid_argument(name + " = '" + value + "': must be " + allowed);
  }

  std::map<std::string, std::string> values_;
};

}  // namespace demo
