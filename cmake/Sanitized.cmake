# Tests with sanitizers for addresses and undefined behaviour: the floors that compute are compiled again, their tests
# are not. A heap block that a test makes is watched, too, since the sanitizer's malloc serves the whole program; arrays
# on a test's stack are not.
set(EK_SANITIZER_OPTIONS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -O0
    -U_FORTIFY_SOURCE -UNDEBUG)

# ek_sanitized_floor(kernels OPTIONS...): ek_kernels_sanitized, the objects of a floor with sanitizers. In the floor's
# own CMakeLists.txt, after all that it says about its sources.
function(ek_sanitized_floor NAME)
  if(NOT EK_TESTS)
    return()
  endif()
  add_library(ek_${NAME}_sanitized OBJECT EXCLUDE_FROM_ALL)
  foreach(PROPERTY SOURCES INCLUDE_DIRECTORIES LINK_LIBRARIES COMPILE_OPTIONS COMPILE_DEFINITIONS)
    get_target_property(VALUE ek_${NAME} ${PROPERTY})
    if(VALUE)
      set_target_properties(ek_${NAME}_sanitized PROPERTIES ${PROPERTY} "${VALUE}")
    endif()
  endforeach()
  target_compile_options(ek_${NAME}_sanitized PRIVATE ${EK_SANITIZER_OPTIONS} ${ARGN})
  get_target_property(IS_UNITY ek_${NAME} UNITY_BUILD)
  if(IS_UNITY)
    ek_unity(ek_${NAME}_sanitized 30)  # few units, which read LibTorch's headers without a precompiled one
  endif()
endfunction()

# ek_sanitized_test(ops FLOORS base kernels ops NEEDS evenkeel::torch): the program ops_sanitized_test is ops_test
# on these FLOORS with sanitizers, and on what it NEEDS without. `ctest -C sanitized` has it.
# The target `sanitized` builds all of them.
function(ek_sanitized_test NAME)
  cmake_parse_arguments(TEST "" "" "FLOORS;NEEDS" ${ARGN})
  # The linker takes the first of equal inline functions: those with sanitizers.
  list(TRANSFORM TEST_FLOORS REPLACE "(.+)" "$<TARGET_OBJECTS:ek_\\1_sanitized>" OUTPUT_VARIABLE SANITIZED)
  add_executable(${NAME}_sanitized_test ${SANITIZED} $<TARGET_OBJECTS:${NAME}_test>)
  set_target_properties(${NAME}_sanitized_test PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${NAME}_sanitized_test PRIVATE ${TEST_NEEDS} GTest::gtest_main)
  target_link_options(${NAME}_sanitized_test PRIVATE -fsanitize=address,undefined -fopenmp)
  ek_group(sanitized ${NAME}_sanitized_test)
  foreach(SHARD 0 1)  # two at a time
    ek_entry(${NAME}_sanitized_${SHARD} CONFIGURATIONS sanitized COMMAND ${NAME}_sanitized_test
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${NAME}_sanitized_${SHARD} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${SHARD};EK_UNOPTIMIZED=1")
  endforeach()
endfunction()
