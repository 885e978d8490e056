# fa_compile_options: what all code of the course is compiled with.

include(CheckCXXCompilerFlag)

add_library(fa_compile_options INTERFACE)
target_compile_options(fa_compile_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

# NaN and infinities are inputs like others, so nothing of -ffast-math that assumes them away. These two only give up
# errno and floating-point traps, which nobody looks at, and let loops with a condition be vectorized.
target_compile_options(fa_compile_options INTERFACE -fno-math-errno -fno-trapping-math)

if(FA_NATIVE)
  check_cxx_compiler_flag(-march=native FA_HAS_MARCH_NATIVE)
  if(FA_HAS_MARCH_NATIVE)
    target_compile_options(fa_compile_options INTERFACE -march=native)
  endif()
endif()

if(FA_SANITIZE)
  target_compile_options(fa_compile_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                      -fno-omit-frame-pointer)
  target_link_options(fa_compile_options INTERFACE -fsanitize=address,undefined)
endif()

# Warnings are errors in the course's own code; never in what a student is writing.
add_library(fa_strict_options INTERFACE)
target_link_libraries(fa_strict_options INTERFACE fa_compile_options)
if(FA_WERROR)
  target_compile_options(fa_strict_options INTERFACE -Werror)
endif()
