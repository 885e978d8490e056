# What the course is built on. Each is looked for on the system first; a pinned download is the fallback.
#
#   Catch2            3.4 or newer    the tests
#   Google Benchmark  1.7 or newer    the benchmarks

include(FetchContent)

FetchContent_Declare(
  Catch2
  URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
  URL_HASH SHA256=c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
  DOWNLOAD_EXTRACT_TIMESTAMP ON
  SYSTEM
  FIND_PACKAGE_ARGS 3.4)

FetchContent_Declare(
  benchmark
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  URL_HASH SHA256=6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce
  DOWNLOAD_EXTRACT_TIMESTAMP ON
  SYSTEM
  FIND_PACKAGE_ARGS 1.7)

# Of a downloaded Google Benchmark, only the library.
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)

FetchContent_MakeAvailable(Catch2 benchmark)

# catch_discover_tests: a system package puts it on the module path, a download keeps it in extras/.
if(Catch2_SOURCE_DIR)
  list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
endif()
include(Catch)
