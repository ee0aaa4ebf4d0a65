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

# ek_precompile(ek_nn): TARGET takes LibTorch's headers from one precompiled header, built with the
# flags that all such targets share. They cost 5 to 10 seconds of every file otherwise; the header
# costs 25 seconds and 430 MB of disk, once. `-DEK_PRECOMPILED=OFF` does without.
option(EK_PRECOMPILED "LibTorch's headers are compiled once for all files" ON)
set(EK_TORCH_HEADERS <ATen/ATen.h> <torch/library.h>)
function(ek_precompile TARGET)
  if(EK_PRECOMPILED)
    ek_headers(ek_torch_headers HEADERS ${EK_TORCH_HEADERS} NEEDS evenkeel::torch ek_simd
               OPTIONS -fopenmp)
    target_precompile_headers(${TARGET} REUSE_FROM ek_torch_headers)
    set_target_properties(${TARGET} PROPERTIES EK_PRECOMPILES ON)
  endif()
endfunction()

# The same for a floor that only joins others together: with the headers of command line and JSON,
# and optimised a little only, since nothing in it takes long to run.
function(ek_precompile_glue TARGET)
  target_compile_options(${TARGET} PRIVATE -O1)
  if(EK_PRECOMPILED)
    ek_headers(ek_glue_headers HEADERS ${EK_TORCH_HEADERS} <CLI/CLI.hpp> <nlohmann/json.hpp>
               NEEDS evenkeel::torch ek_simd CLI11::CLI11 OPTIONS -fopenmp -O1)
    target_precompile_headers(${TARGET} REUSE_FROM ek_glue_headers)
    set_target_properties(${TARGET} PROPERTIES EK_PRECOMPILES ON)
  endif()
endfunction()

# The same for a test, with GoogleTest's; optimised a little only: to compile takes longer than to run.
function(ek_precompile_test TARGET WITH_TORCH)
  target_compile_options(${TARGET} PRIVATE -O1 -fPIC)  # -fPIC as the floors, in place of -fPIE
  if(EK_PRECOMPILED AND WITH_TORCH)
    ek_headers(ek_torch_test_headers HEADERS ${EK_TORCH_HEADERS} <gtest/gtest.h>
               NEEDS evenkeel::torch ek_simd GTest::gtest OPTIONS -fopenmp -O1)
    target_precompile_headers(${TARGET} REUSE_FROM ek_torch_test_headers)
  elseif(EK_PRECOMPILED)
    ek_headers(ek_test_headers HEADERS <gtest/gtest.h> <nlohmann/json.hpp> <fstream>
               NEEDS GTest::gtest OPTIONS -O1)
    target_precompile_headers(${TARGET} REUSE_FROM ek_test_headers)
  endif()
endfunction()

# ek_floor(norm SOURCES kind.cpp scheme.cpp NEEDS base [GLUE])
#
# One floor of the building: the object library ek_norm of src/evenkeel/norm, which sees only
# the floors it NEEDS. Objects, not archives: an archive would drop the files that do nothing
# but register operators (TORCH_LIBRARY_IMPL), since no symbol of theirs is ever asked for.
function(ek_floor NAME)
  cmake_parse_arguments(FLOOR "GLUE" "" "SOURCES;NEEDS" ${ARGN})
  add_library(ek_${NAME} OBJECT ${FLOOR_SOURCES})
  target_include_directories(ek_${NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(ek_${NAME} PRIVATE ek_warnings)
  foreach(NEED IN LISTS FLOOR_NEEDS)
    target_link_libraries(ek_${NAME} PUBLIC ${NEED})
  endforeach()
  # Not memory: it is below ops, which brings OpenMP, and a single file.
  if(FLOOR_GLUE)
    ek_precompile_glue(ek_${NAME})
  elseif("evenkeel::torch" IN_LIST FLOOR_NEEDS AND NOT NAME STREQUAL "memory")
    ek_precompile(ek_${NAME})
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
  set_target_properties(ek_${NAME} PROPERTIES EK_OBJECTS "${ALL_OBJECTS}")
endfunction()

# ek_link(evenkeel ek_cli): TARGET gets the objects of a floor and of all floors below it.
function(ek_link TARGET FLOOR)
  get_target_property(OBJECTS ${FLOOR} EK_OBJECTS)
  target_sources(${TARGET} PRIVATE ${OBJECTS})
  target_link_libraries(${TARGET} PRIVATE ${FLOOR} ek_warnings)
endfunction()

# ek_test(ops SOURCES rms_norm_test.cpp NEEDS ek_ops): one program and one ctest entry for a floor.
# Not one entry a case: a program that links libtorch takes 0.2 s to start.
function(ek_test NAME)
  cmake_parse_arguments(TEST "" "" "SOURCES;NEEDS" ${ARGN})
  add_executable(${NAME}_test ${TEST_SOURCES})
  target_include_directories(${NAME}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${NAME}_test PRIVATE EK_TESTS="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${NAME}_test PRIVATE GTest::gtest_main)
  set(WITH_TORCH OFF)
  foreach(NEED IN LISTS TEST_NEEDS)
    ek_link(${NAME}_test ${NEED})
    get_target_property(PRECOMPILES ${NEED} EK_PRECOMPILES)
    if(PRECOMPILES)
      set(WITH_TORCH ON)
    endif()
  endforeach()
  ek_precompile_test(${NAME}_test ${WITH_TORCH})
  add_test(NAME ${NAME} COMMAND ${NAME}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# ek_check(floors tools/check_floors.py ARGS...): a Python script that says no by its exit code.
function(ek_check NAME SCRIPT)
  add_test(NAME ${NAME} COMMAND ${Python3_EXECUTABLE} ${SCRIPT} ${ARGN}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${NAME} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
