# nvcc, which compiles the .cu files of a build with FA_CUDA.

# The GPUs that the course speaks of, from Turing to Blackwell. CMAKE_CUDA_ARCHITECTURES chooses others.
set(FA_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING "GPUs to compile for, as far as nvcc knows them")

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
    message(FATAL_ERROR
      "FA_CUDA is ON, and no CUDA compiler was found: nvcc is not on the PATH. Install the CUDA toolkit, put the folder "
      "of nvcc on the PATH, or set CUDACXX to its full path. Without a GPU the CUDA lessons run on the CPU: leave "
      "FA_CUDA off (preset cpu).")
  endif()
endif()

# An older nvcc does not know the newest GPUs.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  separate_arguments(nvcc UNIX_COMMAND "$ENV{CUDACXX}")
  if(CMAKE_CUDA_COMPILER)
    set(nvcc ${CMAKE_CUDA_COMPILER})
  endif()
  execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  foreach(architecture IN LISTS FA_CUDA_ARCHITECTURES)
    if(known MATCHES "compute_${architecture}\n")
      list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture})
    endif()
  endforeach()
endif()

enable_language(CUDA)
set(CMAKE_CUDA_STANDARD ${CMAKE_CXX_STANDARD})
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc understands C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)

# Of the GPUs that the build is for, those of compute capability `least` (80 for 8.0) and newer, into `result`; `least`
# itself where there are none, so that what needs it compiles everywhere.
function(fa_architectures_from least result)
  set(all ${CMAKE_CUDA_ARCHITECTURES})
  if(all STREQUAL "native")
    set(all ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  elseif(all STREQUAL "all")
    set(all ${CMAKE_CUDA_ARCHITECTURES_ALL})
  elseif(all STREQUAL "all-major")
    set(all ${CMAKE_CUDA_ARCHITECTURES_ALL_MAJOR})
  endif()
  set(kept "")
  foreach(architecture IN LISTS all)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(number GREATER_EQUAL ${least})
      list(APPEND kept ${architecture})
    endif()
  endforeach()
  if(NOT kept)
    set(kept ${least})
  endif()
  set(${result} ${kept} PARENT_SCOPE)
endfunction()
