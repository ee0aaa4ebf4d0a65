# ek_headers(ek_torch_headers HEADERS <ATen/ATen.h> NEEDS evenkeel::torch OPTIONS -fopenmp): headers
# that are compiled once for all targets of the same flags.
function(ek_headers NAME)
  cmake_parse_arguments(PART "" "" "HEADERS;NEEDS;OPTIONS" ${ARGN})
  if(TARGET ${NAME})
    return()
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/${NAME}.cpp "")
  add_library(${NAME} OBJECT ${PROJECT_BINARY_DIR}/${NAME}.cpp)
  target_link_libraries(${NAME} PRIVATE ${PART_NEEDS} ek_warnings)
  target_compile_options(${NAME} PRIVATE ${PART_OPTIONS})
  target_precompile_headers(${NAME} PRIVATE ${PART_HEADERS})
endfunction()

# ek_precompile(ek_nn torch): TARGET takes the big headers from one precompiled header, built with the
# flags that all targets of its SET share. LibTorch's cost 5 to 10 seconds of every file otherwise; the
# header costs 10 to 25 seconds and 160 to 400 MB of disk, once, and up to 2.5 seconds of every file
# that takes it: so a set holds what its files use, and no more. `-DEK_PRECOMPILED=OFF` does without.
# Floors are optimised a little only (EK_GLUE_OPTIONS), tests not at all (EK_TEST_OPTIONS) but for those of
# kernels: they call the operators, and take longer to compile than to run. What computes, the floor
# `kernels`, takes no set. The sets:
#
#   torch_library  a floor that registers operators
#   torch          a floor that calls them
#   torch_core     a floor that uses the Tensor class alone
#   plain          a floor without torch
#   torch_test     a test
#   plain_test     a test without torch
option(EK_PRECOMPILED "Big headers are compiled once for all files" ON)
set(EK_GLUE_OPTIONS -O1 CACHE STRING "Compiler options of floors that do not compute")
set(EK_TEST_OPTIONS -O0 -U_FORTIFY_SOURCE CACHE STRING "Compiler options of tests")
set(EK_PLAIN_HEADERS <nlohmann/json.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <sstream> <variant>)
function(ek_precompile TARGET SET)
  set(OF_TORCH NEEDS evenkeel::torch ek_simd OPTIONS -fopenmp ${EK_GLUE_OPTIONS})
  set(OWN ${EK_GLUE_OPTIONS})
  if(SET STREQUAL "torch_library")
    set(PARTS HEADERS <ATen/Dispatch.h> <torch/csrc/autograd/custom_function.h> <torch/library.h>
        ${OF_TORCH})
  elseif(SET STREQUAL "torch")
    set(PARTS HEADERS <ATen/ATen.h> <nlohmann/json.hpp> ${OF_TORCH})
  elseif(SET STREQUAL "torch_core")
    set(PARTS HEADERS <ATen/core/Tensor.h> <nlohmann/json.hpp> ${OF_TORCH})
  elseif(SET STREQUAL "plain")
    set(PARTS HEADERS ${EK_PLAIN_HEADERS} OPTIONS ${EK_GLUE_OPTIONS})
  elseif(SET STREQUAL "torch_test")
    set(OWN ${EK_TEST_OPTIONS} -fPIC)  # -fPIC as the floors, in place of -fPIE
    set(PARTS HEADERS <ATen/ATen.h> <torch/library.h> <gtest/gtest.h>
        NEEDS evenkeel::torch ek_simd GTest::gtest OPTIONS -fopenmp ${EK_TEST_OPTIONS})
  elseif(SET STREQUAL "plain_test")
    set(OWN ${EK_TEST_OPTIONS} -fPIC)
    set(PARTS HEADERS ${EK_PLAIN_HEADERS} <gtest/gtest.h> NEEDS GTest::gtest
        OPTIONS ${EK_TEST_OPTIONS})
  else()
    message(FATAL_ERROR "ek_precompile: no set of headers is called '${SET}'")
  endif()
  target_compile_options(${TARGET} PRIVATE ${OWN})
  if(EK_PRECOMPILED)
    ek_headers(ek_${SET}_headers ${PARTS})
    target_precompile_headers(${TARGET} REUSE_FROM ek_${SET}_headers)
  endif()
endfunction()

# ek_unity(TARGET SOURCES): so many sources are compiled as one, which reads their common headers once: a build from
# nothing takes less than half the time. `-DEK_UNITY=OFF` compiles each source alone, which is faster after
# an edit. Names in anonymous namespaces must be unique in a floor. What computes is compiled alone.
option(EK_UNITY "Several sources are compiled as one" ON)
set(EK_UNITY_SOURCES 16 CACHE STRING "Sources of a floor that are compiled as one")
function(ek_unity TARGET SOURCES)
  if(EK_UNITY)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${SOURCES})
    # g++ takes the sources for headers of the unit, where anonymous namespaces are dubious.
    target_compile_options(${TARGET} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# ek_floor(norm HEADERS plain SOURCES kind.cpp scheme.cpp NEEDS base)
#
# One floor of the building: the object library ek_norm of src/evenkeel/norm, which sees only
# the floors it NEEDS, and takes its big HEADERS from a precompiled set. Objects, not archives: an
# archive would drop the files that do nothing but register operators (TORCH_LIBRARY_IMPL), since
# no symbol of theirs is ever asked for.
function(ek_floor NAME)
  cmake_parse_arguments(FLOOR "" "HEADERS" "SOURCES;NEEDS" ${ARGN})
  add_library(ek_${NAME} OBJECT ${FLOOR_SOURCES})
  target_include_directories(ek_${NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(ek_${NAME} PRIVATE ek_warnings)
  foreach(NEED IN LISTS FLOOR_NEEDS)
    target_link_libraries(ek_${NAME} PUBLIC ${NEED})
  endforeach()
  if(FLOOR_HEADERS)
    ek_precompile(ek_${NAME} ${FLOOR_HEADERS})
    ek_unity(ek_${NAME} ${EK_UNITY_SOURCES})
  endif()
  set_property(GLOBAL APPEND PROPERTY EK_FLOORS ek_${NAME})
  set(ALL_OBJECTS $<TARGET_OBJECTS:ek_${NAME}>)
  foreach(NEED IN LISTS FLOOR_NEEDS)
    if(TARGET ${NEED})
      get_target_property(BELOW ${NEED} EK_OBJECTS)
      if(BELOW)
        list(APPEND ALL_OBJECTS ${BELOW})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES ALL_OBJECTS)
  set_target_properties(ek_${NAME} PROPERTIES EK_OBJECTS "${ALL_OBJECTS}" EK_HEADERS "${FLOOR_HEADERS}")
endfunction()

# ek_link(evenkeel ek_cli): TARGET gets the objects of a floor and of all floors below it.
function(ek_link TARGET FLOOR)
  get_target_property(OBJECTS ${FLOOR} EK_OBJECTS)
  target_sources(${TARGET} PRIVATE ${OBJECTS})
  target_link_libraries(${TARGET} PRIVATE ${FLOOR} ek_warnings)
endfunction()

# ek_entry(format COMMAND tools/check_format.sh): an entry of ctest, which takes two of its slots. `ctest -j 7` runs
# three of these at a time, or more of those that mostly wait and take one (PROCESSORS 1).
function(ek_entry NAME)
  add_test(NAME ${NAME} ${ARGN})
  set_tests_properties(${NAME} PROPERTIES PROCESSORS 2)
endfunction()

# ek_test(ops SOURCES rms_norm_test.cpp NEEDS ek_ops [GROUP cuda_emulated]): one program and one ctest entry for a
# floor. Not one entry a case: a program that links libtorch takes 0.2 s to start. A group is not of `./ek test`:
# the target GROUP builds its programs, and `ctest -C GROUP` runs them.
function(ek_test NAME)
  cmake_parse_arguments(TEST "" "GROUP" "SOURCES;NEEDS" ${ARGN})
  add_executable(${NAME}_test ${TEST_SOURCES})
  target_include_directories(${NAME}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${NAME}_test PRIVATE EK_TESTS="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${NAME}_test PRIVATE GTest::gtest_main)
  set(HEADERS plain_test)
  foreach(NEED IN LISTS TEST_NEEDS)
    ek_link(${NAME}_test ${NEED})
    get_target_property(FLOOR_HEADERS ${NEED} EK_HEADERS)
    if(FLOOR_HEADERS MATCHES "^torch")
      set(HEADERS torch_test)
    endif()
  endforeach()
  if(HEADERS STREQUAL torch_test)
    target_link_libraries(${NAME}_test PRIVATE ek_mkl_setup)
  endif()
  ek_precompile(${NAME}_test ${HEADERS})
  ek_unity(${NAME}_test 12)  # in every preset: names are unique within twelve
  if(TEST_GROUP)
    ek_group(${TEST_GROUP} ${NAME}_test)
    set(OF_GROUP CONFIGURATIONS ${TEST_GROUP})
  endif()
  ek_entry(${NAME} ${OF_GROUP} COMMAND ${NAME}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# ek_group(sanitized ops_sanitized_test): a program that only the target of the group builds.
function(ek_group GROUP PROGRAM)
  if(NOT TARGET ${GROUP})
    add_custom_target(${GROUP})
  endif()
  add_dependencies(${GROUP} ${PROGRAM})
  set_target_properties(${PROGRAM} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

# ek_check(floors tools/check_floors.py ARGS...): a Python script that says no by its exit code.
function(ek_check NAME SCRIPT)
  ek_entry(${NAME} COMMAND ${Python3_EXECUTABLE} ${SCRIPT} ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${NAME} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
