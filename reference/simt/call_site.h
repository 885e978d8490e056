// Where a kernel calls a barrier or a warp operation: two of them in one line are told apart by their column.

#pragma once

#include <source_location>
#include <string_view>

#include "fa/place.h"

namespace fa::simt {

struct CallSite : Place {
  int column = 0;

#if __has_builtin(__builtin_COLUMN)
  static constexpr CallSite here(Place place = Place::here(), int column = __builtin_COLUMN()) {
    return {place, column};
  }
#else  // GCC
  static constexpr CallSite here(Place place = Place::here(),
                                 std::source_location call = std::source_location::current()) {
    return {place, static_cast<int>(call.column())};
  }
#endif
};

inline bool same_line(const Place& a, const Place& b) {
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);  // mostly one string
}
inline bool same_site(const CallSite& a, const CallSite& b) { return a.column == b.column && same_line(a, b); }

}  // namespace fa::simt
