// The name of a kernel, for messages, from what a compiler writes for __PRETTY_FUNCTION__ in a function template whose
// parameter is called `kernel`:
//
//   GCC     ... [with auto kernel = lesson::{anonymous}::my_kernel<5>; Arguments = {int}]      my_kernel<5>
//   nvcc    ... [with auto kernel = lesson::_GLOBAL__N__4f_4_b_cu_main::my_kernel<5>; ...]     my_kernel<5>
//   Clang   ... [kernel = &lesson::(anonymous namespace)::my_kernel<5>, Arguments = <int>]     my_kernel<5>

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fa {

// `pretty` itself when there is no kernel in it.
inline std::string kernel_name(std::string_view pretty) {
  constexpr std::string_view before = "kernel = ";
  const std::size_t found = pretty.find(before);
  if (found == std::string_view::npos) return std::string(pretty);
  std::string_view name = pretty.substr(found + before.size());
  if (name.starts_with('&')) name.remove_prefix(1);

  int depth = 0;          // of brackets: what stands in them belongs to a part of the name
  std::size_t start = 0;  // of the part after the last "::"
  std::size_t at = 0;
  for (; at < name.size(); ++at) {
    const char c = name[at];
    if (depth == 0 && (c == ';' || c == ',' || c == ']')) break;
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0 && c == ':') start = at + 1;
  }
  return std::string(name.substr(start, at - start));
}

}  // namespace fa
