// fa::Place: a line of source code, for messages. As a default argument or member, Place::here() is the line of the
// caller:
//
//   void check(int status, Place where = Place::here());
//
// It is std::source_location without a library: Clang has the built-in functions for longer than the header works.

#pragma once

#include <string>
#include <string_view>

namespace fa {

struct Place {
  const char* file = "";  // as it was given to the compiler
  int line = 0;

  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// "attention_forward.cu:84": without the folders, which say more about the machine than about the code.
inline std::string to_string(const Place& place) {
  const std::string_view path(place.file);
  return std::string(path.substr(path.rfind('/') + 1)) + ':' + std::to_string(place.line);
}

}  // namespace fa
