# fa_compile_options: what all code of the course is compiled with.

include(CheckCXXCompilerFlag)

add_library(fa_compile_options INTERFACE)

# NaN and infinities are inputs like others, so nothing of -ffast-math that assumes them away. The last two only give up
# errno and floating-point traps, which nobody looks at, and let loops with a condition be vectorized.
set(options -Wall -Wextra -Wpedantic -Wshadow -Wconversion -fno-math-errno -fno-trapping-math)

# `#pragma unroll` is for nvcc; other compilers need not know it.
list(APPEND options -Wno-unknown-pragmas)

if(FA_NATIVE)
  check_cxx_compiler_flag(-march=native FA_HAS_MARCH_NATIVE)
  if(FA_HAS_MARCH_NATIVE)
    list(APPEND options -march=native)
  endif()
endif()

if(FA_SANITIZE)
  list(APPEND options -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DFA_SANITIZE)
  target_link_options(fa_compile_options INTERFACE -fsanitize=address,undefined)
endif()

# libFuzzer sees which branches an input takes.
if(FA_FUZZ)
  list(APPEND options -fsanitize=fuzzer-no-link)
endif()

target_compile_options(fa_compile_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")

# nvcc hands what stands after -Xcompiler to the host compiler. Not -Wpedantic and -Wconversion, which the code that nvcc
# generates does not bear, nor -march=native: nvcc reads the host's headers too, and not all that they hold for the newest
# processors. -lineinfo: ncu and compute-sanitizer name lines of the source.
if(FA_CUDA)
  target_compile_options(fa_compile_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Xcompiler=-Wall,-Wextra,-Wshadow>")
endif()

# Warnings are errors in the course's own code; never in what a student is writing.
add_library(fa_strict_options INTERFACE)
target_link_libraries(fa_strict_options INTERFACE fa_compile_options)
if(FA_WERROR)
  target_compile_options(fa_strict_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()

# A stub does not use its arguments yet. (A library of its own, since clang goes by the last flag: it must come after -Wall.)
add_library(fa_unused_allowed INTERFACE)
target_compile_options(fa_unused_allowed INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused> "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-unused;-diag-suppress=177,550>")
add_library(fa_stub_options INTERFACE)
target_link_libraries(fa_stub_options INTERFACE fa_compile_options fa_unused_allowed)

# A local variable that nothing initialized is mostly 0 by chance, and a sum that begins with it right. Not in an exercise:
# there it begins with a number that no test takes for right.
check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern FA_HAS_AUTO_VAR_INIT)
if(FA_HAS_AUTO_VAR_INIT)
  target_compile_options(fa_stub_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-ftrivial-auto-var-init=pattern>")
endif()

# A test should be compiled fast rather than run fast: what takes long in it is the code under test. (After the options of
# the build type, the last -O counts.)
add_library(fa_test_options INTERFACE)
target_link_libraries(fa_test_options INTERFACE fa_strict_options)
target_compile_options(fa_test_options INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# Without FA_CUDA a .cu file is C++. (CMake adds the -x c++ that compilers need to believe it.)
function(fa_compile_cu_as_cpp)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  if(sources AND NOT FA_CUDA)
    set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
  endif()
endfunction()
