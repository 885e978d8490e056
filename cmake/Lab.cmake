# fa_add_lab(find_the_bug): the targets of a lab of several short kernels, each in a file of its own: NN_name.cu.
#
#   test_solution_<lab>     the tests of all kernels, linked with the solutions; run by CTest
#   test_exercise_bugNN     the tests of kernel NN (tag [bugNN]), linked with the exercise NN, and with the solutions of the
#                           others, so that what is wrong in one of them is never in the way of another; built on request
#   exercises_<lab>         all of these
#
# The same object code of the tests is in all of them.

function(fa_add_lab lab)
  set(solutions ${PROJECT_SOURCE_DIR}/solutions/${lab})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${solutions} ${solutions}/[0-9][0-9]_*.cu)
  if(NOT files)
    message(FATAL_ERROR "solutions/${lab} holds no kernel [0-9][0-9]_*.cu")
  endif()
  add_custom_target(exercises_${lab})
  if(FA_CUDA)
    # Compiling takes longest. What is for the oldest of several GPUs, a newer one compiles for itself as it starts.
    list(GET CMAKE_CUDA_ARCHITECTURES 0 CMAKE_CUDA_ARCHITECTURES)  # for the targets of this function
  endif()

  set(all "")
  foreach(file IN LISTS files)
    string(SUBSTRING ${file} 0 2 number)
    fa_add_implementation(solution_bug${number} ${lab} ${solutions}/${file} fa_strict_options)
    list(APPEND all solution_bug${number})
  endforeach()
  list(GET all 0 first)
  fa_add_objects(tests_${lab} ${first} fa_test_options ${PROJECT_SOURCE_DIR}/lessons/${lab}/test.cpp)
  fa_add_lab_tests(test_solution_${lab} ${lab} "solutions solutions/${lab}" ${all})
  catch_discover_tests(test_solution_${lab} TEST_PREFIX "${lab}/" PROPERTIES SKIP_RETURN_CODE 4)

  foreach(file IN LISTS files)
    string(SUBSTRING ${file} 0 2 number)
    set(exercise exercises/${lab}/${file})
    fa_find_exercise(source ${exercise} "./course bug ${number} --reset brings it back")
    fa_add_implementation(exercise_bug${number} ${lab} ${source} fa_stub_options)
    set(others ${all})
    list(REMOVE_ITEM others solution_bug${number})
    fa_add_lab_tests(test_exercise_bug${number} ${lab} "exercise ${exercise}" exercise_bug${number} ${others})
    set_target_properties(exercise_bug${number} test_exercise_bug${number} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(exercises_${lab} test_exercise_bug${number})
  endforeach()
endfunction()

# The tests of a lab, linked with these implementations.
function(fa_add_lab_tests target lab description)
  add_executable(${target} ${PROJECT_SOURCE_DIR}/reference/fa/implementation.cpp $<TARGET_OBJECTS:tests_${lab}>)
  target_compile_definitions(${target} PRIVATE "FA_IMPLEMENTATION=\"${description}\"")
  target_link_libraries(${target} PRIVATE ${ARGN} fa_device_testing)
endfunction()
