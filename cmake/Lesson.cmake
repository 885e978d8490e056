# fa_add_lesson(03_tiled_attention [COMPARES 01 ...] [LEAST_ARCHITECTURE 80]): the targets of a lesson. With NN = 03:
#
#   test_solution_NN        the tests, linked with the solution; run by CTest
#   test_exercise_NN        the same object code of the tests, linked with the exercise; built on request only
#   test_given_NN           where the lesson has a test_given.cpp: tests of code that is given; run by CTest
#   bench_NN                the benchmarks, linked with the solution
#   bench_exercise_NN       the same with the exercise; built on request only
#   profile_NN              where the lesson has a profile.cpp: one run of the solution, to be watched by a profiler
#   profile_exercise_NN     the same with the exercise; built on request only
#   test_mistake_NN_<name>  the tests, linked with the solution after one cataloged mistake (FA_MISTAKES=ON)
#   bench_rung_NN_<name>    where the lesson has a rungs.toml: the benchmarks, linked with one of the steps by which the
#                           solution got fast; test_rung_NN_<name> and profile_rung_NN_<name>: the tests, and one run;
#                           all built on request only
#
#   given_NN                the other code of the lesson, which is given and which all of these need; compiled once
#   solution_NN_renamed     the solution in namespace lesson_NN, for benchmarks and demos that compare several lessons
#
# COMPARES: the numbers of earlier lessons whose solutions the benchmark and profile.cpp run too, each in its own
# namespace.
#
# LEAST_ARCHITECTURE: the oldest GPUs that have what the lesson uses. Its targets are compiled for no older ones, and on
# such a GPU its tests are skipped.
#
# A broken exercise is built by nobody who did not ask for it, so it never blocks another lesson.
#
# The solution is a .cpp or a .cu file. A .cu file is compiled by nvcc with FA_CUDA, else as C++, and links fa_device.

include(CheckLinkerFlag)

function(fa_add_lesson lesson)
  string(SUBSTRING ${lesson} 0 2 number)
  set(given ${PROJECT_SOURCE_DIR}/lessons/${lesson})
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LEAST_ARCHITECTURE" "COMPARES")
  if(FA_CUDA AND arg_LEAST_ARCHITECTURE)
    fa_architectures_from(${arg_LEAST_ARCHITECTURE} CMAKE_CUDA_ARCHITECTURES)  # for the targets of this function
  endif()
  set(solutions ${PROJECT_SOURCE_DIR}/solutions/${lesson})
  file(GLOB solution CONFIGURE_DEPENDS ${solutions}/*.cpp ${solutions}/*.cu)
  list(LENGTH solution count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "solutions/${lesson} holds ${count} .cpp and .cu files: must be 1")
  endif()
  cmake_path(GET solution FILENAME file)

  # Code of the lesson that is given and that both implementations need.
  file(GLOB given_sources CONFIGURE_DEPENDS ${given}/*.cpp ${given}/*.cu)
  list(FILTER given_sources EXCLUDE REGEX "/(test|test_given|bench|profile|fuzz)\\.cpp$")
  fa_compile_cu_as_cpp(${given_sources})

  fa_add_implementation(solution_${number} ${lesson} ${solution} fa_strict_options)
  fa_add_implementation(solution_${number}_renamed ${lesson} ${solution} fa_strict_options)
  target_compile_definitions(solution_${number}_renamed PRIVATE lesson=lesson_${number})
  set_target_properties(solution_${number}_renamed PROPERTIES EXCLUDE_FROM_ALL ON)

  fa_find_exercise(exercise exercises/${lesson}/${file} "./course reset ${number} brings the stub back")
  fa_add_implementation(exercise_${number} ${lesson} ${exercise} fa_stub_options)
  set_target_properties(exercise_${number} PROPERTIES EXCLUDE_FROM_ALL ON)

  # Compiled once, for all programs of the lesson.
  set(given_objects "")
  if(given_sources)
    fa_add_objects(given_${number} solution_${number} fa_strict_options ${given_sources})
    set(given_objects $<TARGET_OBJECTS:given_${number}>)
  endif()

  fa_add_objects(tests_${number} solution_${number} fa_test_options ${given}/test.cpp)
  fa_add_test_binary(test_solution_${number} ${number} solution_${number} "solution solutions/${lesson}/${file}")
  fa_add_test_binary(test_exercise_${number} ${number} exercise_${number} "exercise exercises/${lesson}/${file}")
  set_target_properties(test_exercise_${number} PROPERTIES EXCLUDE_FROM_ALL ON)
  catch_discover_tests(test_solution_${number} TEST_PREFIX "${number}/solution/" PROPERTIES SKIP_RETURN_CODE 4)
  if(EXISTS ${given}/test_given.cpp)
    fa_add_objects(tests_given_${number} solution_${number} fa_test_options ${given}/test_given.cpp)
    fa_add_test_binary(test_given_${number} given_${number} solution_${number} "given lessons/${lesson}")
    catch_discover_tests(test_given_${number} TEST_PREFIX "${number}/given/" PROPERTIES SKIP_RETURN_CODE 4)
  endif()

  fa_add_benchmark(bench_${number} solution_${number} ${given}/bench.cpp ${given_objects})
  fa_add_benchmark(bench_exercise_${number} exercise_${number} $<TARGET_OBJECTS:bench_${number}> ${given_objects})
  set_target_properties(bench_exercise_${number} PROPERTIES EXCLUDE_FROM_ALL ON)
  set(comparing bench_${number} bench_exercise_${number})

  if(EXISTS ${given}/profile.cpp)
    fa_add_profile(profile_${number} solution_${number} ${given}/profile.cpp ${given_objects})
    fa_add_profile(profile_exercise_${number} exercise_${number} $<TARGET_OBJECTS:profile_${number}> ${given_objects})
    set_target_properties(profile_exercise_${number} PROPERTIES EXCLUDE_FROM_ALL ON)
    list(APPEND comparing profile_${number} profile_exercise_${number})
  endif()
  foreach(other IN LISTS arg_COMPARES)
    foreach(target IN LISTS comparing)
      fa_link_renamed(${target} ${other})
    endforeach()
  endforeach()

  if(FA_FUZZ)
    fa_add_fuzzer(fuzz_${number} solution_${number} ${given}/fuzz.cpp ${given_objects})
    add_dependencies(fuzzers fuzz_${number})
  endif()
  if(FA_MISTAKES)
    fa_add_mistakes(${number} ${lesson} ${file})
  endif()
  if(EXISTS ${given}/rungs.toml)
    fa_add_rungs(${number} ${lesson} ${file})
  endif()
endfunction()

# The student's file, or one with an #error in its place: that it was moved away is an error of the targets that need it,
# not of the configuration.
function(fa_find_exercise result file advice)
  file(GLOB exercise CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  if(NOT exercise)
    set(exercise ${PROJECT_BINARY_DIR}/missing/${file})
    file(CONFIGURE OUTPUT ${exercise} CONTENT "#error ${file} is missing: ${advice}\n")
  endif()
  set(${result} ${exercise} PARENT_SCOPE)
endfunction()

# One source file, compiled against the lesson's contract.
function(fa_add_implementation target lesson source options)
  fa_compile_cu_as_cpp(${source})
  add_library(${target} OBJECT ${source})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/lessons/${lesson})
  target_link_libraries(${target} PUBLIC fa_reference PRIVATE ${options})
  if(source MATCHES "\\.cu$")
    target_link_libraries(${target} PUBLIC fa_device)
    set_target_properties(${target} PROPERTIES FA_ON_DEVICE ON)
  endif()
endfunction()

# The tests, or given code, compiled against the contract of an implementation.
function(fa_add_objects target implementation options)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE fa_reference Catch2::Catch2 ${options})
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${implementation},INTERFACE_INCLUDE_DIRECTORIES>)
  get_target_property(on_device ${implementation} FA_ON_DEVICE)
  if(on_device)
    target_link_libraries(${target} PRIVATE fa_device)
  endif()
endfunction()

# Called by fa_add_lesson, whose arg_LEAST_ARCHITECTURE and given_objects it sees.
function(fa_add_test_binary target number implementation description)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/reference/fa/implementation.cpp $<TARGET_OBJECTS:tests_${number}>
                           ${given_objects})
  target_compile_definitions(${target} PRIVATE "FA_IMPLEMENTATION=\"${description}\"")
  if(arg_LEAST_ARCHITECTURE)
    target_compile_definitions(${target} PRIVATE FA_LEAST_ARCHITECTURE=${arg_LEAST_ARCHITECTURE})
  endif()
  target_link_libraries(${target} PRIVATE ${implementation} fa_testing)
  get_target_property(on_device ${implementation} FA_ON_DEVICE)
  if(on_device)
    target_link_libraries(${target} PRIVATE fa_device_testing)
  endif()
endfunction()

function(fa_add_benchmark target implementation)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${implementation} fa_benchmark fa_strict_options)
  get_target_property(on_device ${implementation} FA_ON_DEVICE)
  if(on_device AND TARGET fa_cublas)
    target_link_libraries(${target} PRIVATE fa_cublas)
  endif()
endfunction()

function(fa_add_profile target implementation)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${implementation} fa_strict_options)
endfunction()

# libFuzzer brings main().
function(fa_add_fuzzer target implementation)
  add_executable(${target} EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE ${implementation} fa_strict_options)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
endfunction()

# Links the solution of the lesson with this number, in its own namespace, without its contract on the include path.
function(fa_link_renamed target number)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:solution_${number}_renamed>)
  get_target_property(on_device solution_${number}_renamed FA_ON_DEVICE)
  if(on_device)
    target_link_libraries(${target} PRIVATE fa_device)
  endif()
endfunction()

# tools/checks/mistakes.py writes a copy of the solution with each mistake into the build folder and prints their names.
function(fa_add_mistakes number lesson file)
  find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
  set(folder ${PROJECT_BINARY_DIR}/mistakes/${lesson})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/${lesson}/lesson.toml
                                         ${PROJECT_SOURCE_DIR}/tools/checks/mistakes.py)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/checks/mistakes.py write ${lesson} ${folder}
    OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT TARGET mistakes)
    add_custom_target(mistakes)
  endif()
  string(REPLACE "\n" ";" names "${names}")
  cmake_path(REPLACE_EXTENSION file h OUTPUT_VARIABLE contract)
  check_linker_flag(CXX -fuse-ld=gold FA_HAS_GOLD) # takes half the time
  set(first "")
  foreach(name IN LISTS names)
    set(suffix ${number}_${name})
    fa_add_implementation(mistake_${suffix} ${lesson} ${folder}/${name}/${file} fa_compile_options)
    target_compile_options(mistake_${suffix} PRIVATE -O0 -w) # it takes half the time, and few tests are run with it
    # Most of the time goes into headers, the same ones for all of a lesson's mistakes: they are compiled once.
    if(first)
      target_precompile_headers(mistake_${suffix} REUSE_FROM ${first})
    else()
      set(first mistake_${suffix})
      target_precompile_headers(${first} PRIVATE ${PROJECT_SOURCE_DIR}/lessons/${lesson}/${contract} <algorithm> <cmath>
                                                 <limits> <stdexcept> <string>)
    endif()
    fa_add_test_binary(test_mistake_${suffix} ${number} mistake_${suffix} "mistake ${name}")
    target_link_options(test_mistake_${suffix} PRIVATE $<$<BOOL:${FA_HAS_GOLD}>:-fuse-ld=gold>)
    set_target_properties(mistake_${suffix} test_mistake_${suffix} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(mistakes test_mistake_${suffix})
  endforeach()
endfunction()

# tools/checks/rungs.py writes a copy of the solution for each rung into the build folder and prints their names. What
# is not the solution is linked as bench_NN and test_solution_NN have it, so a rung costs one source file.
function(fa_add_rungs number lesson file)
  find_package(Python3 3.11 QUIET COMPONENTS Interpreter)
  if(NOT Python3_FOUND) # a course without its ladder
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/rungs/${lesson})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/${lesson}/rungs.toml
                                         ${PROJECT_SOURCE_DIR}/tools/checks/rungs.py)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/checks/rungs.py write ${lesson} ${folder}
    OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(target rungs bench_rungs)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
  endforeach()
  string(REPLACE "\n" ";" names "${names}")
  foreach(name IN LISTS names)
    set(suffix ${number}_${name})
    fa_add_implementation(rung_${suffix} ${lesson} ${folder}/${name}/${file} fa_strict_options)
    fa_add_test_binary(test_rung_${suffix} ${number} rung_${suffix} "rung ${name}")
    fa_add_benchmark(bench_rung_${suffix} rung_${suffix} $<TARGET_OBJECTS:bench_${number}> ${given_objects})
    fa_add_profile(profile_rung_${suffix} rung_${suffix} $<TARGET_OBJECTS:profile_${number}> ${given_objects})
    foreach(other IN LISTS arg_COMPARES)
      fa_link_renamed(bench_rung_${suffix} ${other})
      fa_link_renamed(profile_rung_${suffix} ${other})
    endforeach()
    set_target_properties(rung_${suffix} test_rung_${suffix} bench_rung_${suffix} profile_rung_${suffix}
                          PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(rungs test_rung_${suffix})
    add_dependencies(bench_rungs bench_rung_${suffix})
  endforeach()
endfunction()
