# What the course is built on. Each is looked for on the system first; for the first two a pinned download is the fallback.
#
#   Catch2            3.4 or newer    the tests
#   Google Benchmark  1.7 or newer    the benchmarks
#   Boost.Context     1.74 or newer   the emulator, so not in a build with FA_CUDA
#   Eigen             3.4 or newer    its types half and bfloat16: the emulator, too

include(FetchContent)

FetchContent_Declare(
  Catch2
  URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
  URL_HASH SHA256=c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
  DOWNLOAD_EXTRACT_TIMESTAMP ON
  FIND_PACKAGE_ARGS 3.4)

FetchContent_Declare(
  benchmark
  URL https://github.com/google/benchmark/archive/refs/tags/v1.9.1.tar.gz
  URL_HASH SHA256=32131c08ee31eeff2c8968d7e874f3cb648034377dfc32a4c377fa8796d84981
  DOWNLOAD_EXTRACT_TIMESTAMP ON
  FIND_PACKAGE_ARGS 1.7)

# Of a downloaded Google Benchmark, only the library.
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)

FetchContent_MakeAvailable(Catch2 benchmark)

# What a system package has by itself, a download needs to be told: that its headers are not ours to warn about, and where
# catch_discover_tests is.
if(Catch2_SOURCE_DIR)
  set_target_properties(Catch2 PROPERTIES SYSTEM ON)
  list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
endif()
if(benchmark_SOURCE_DIR)
  set_target_properties(benchmark PROPERTIES SYSTEM ON)
endif()
include(Catch)

if(NOT FA_CUDA)
  find_package(Threads REQUIRED)
  find_package(Boost 1.74 CONFIG QUIET COMPONENTS context)
  if(NOT TARGET Boost::context)
    message(FATAL_ERROR
      "Boost.Context 1.74 or newer was not found; the CUDA lessons need it to run on the CPU. Install the package "
      "libboost-context-dev (Debian, Ubuntu), boost-devel (Fedora) or boost (Arch, Homebrew).")
  endif()
  # Without a version, since Eigen 5 refuses to serve who asks for 3.4.
  find_package(Eigen3 CONFIG QUIET)
  if(NOT TARGET Eigen3::Eigen OR Eigen3_VERSION VERSION_LESS 3.4)
    message(FATAL_ERROR
      "Eigen 3.4 or newer was not found; the lessons in half precision need its number types to run on the CPU. Install the "
      "package libeigen3-dev (Debian, Ubuntu), eigen3-devel (Fedora) or eigen (Arch, Homebrew).")
  endif()
endif()
