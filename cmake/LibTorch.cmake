# The imported target evenkeel::torch: the CPU part of a LibTorch, whichever build it is; with EK_CUDA
# also its CUDA part.
#
# find_package(Torch) of a CUDA build insists on a CUDA toolkit, even for a program that links
# none of it. So the folder is taken as it is: headers, libtorch, libtorch_cpu and libc10.
#   EVENKEEL_TORCH   the folder that holds include/ and lib/ (a wheel's `torch`, or a libtorch)
set(EVENKEEL_TORCH "" CACHE PATH "Folder of a LibTorch 2.11 or newer (with include/ and lib/)")

# `pip install .`: the torch that pip has installed for the build.
if(SKBUILD AND NOT EVENKEEL_TORCH)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(WHERE "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "${WHERE}"
    OUTPUT_VARIABLE TORCH_OF_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(EVENKEEL_TORCH "${TORCH_OF_PYTHON}" CACHE PATH "" FORCE)
endif()
if(NOT EXISTS "${EVENKEEL_TORCH}/include/ATen/ATen.h")
  message(FATAL_ERROR "EVENKEEL_TORCH must be a LibTorch folder (include/ATen/ATen.h in it), "
                      "but is \"${EVENKEEL_TORCH}\"; ./ek sets it")
endif()
file(STRINGS "${EVENKEEL_TORCH}/include/torch/headeronly/version.h" TORCH_VERSION_LINES
     REGEX "#define TORCH_VERSION_(MAJOR|MINOR) [0-9]+")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" TORCH_VERSION
       "${TORCH_VERSION_LINES}")
if(TORCH_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "LibTorch must be 2.11 or newer, but ${EVENKEEL_TORCH} is ${TORCH_VERSION}")
endif()

# The libtorch_cpu of a CUDA build links two of NVIDIA's libraries (cudart, cupti).
execute_process(COMMAND ldd ${EVENKEEL_TORCH}/lib/libtorch_cpu.so OUTPUT_VARIABLE TORCH_NEEDS ERROR_QUIET)
if(EK_CUDA AND NOT EXISTS "${EVENKEEL_TORCH}/lib/libtorch_cuda.so")
  message(FATAL_ERROR "EK_CUDA needs a LibTorch with CUDA (lib/libtorch_cuda.so), but ${EVENKEEL_TORCH} has none")
elseif(NOT EK_CUDA AND TORCH_NEEDS MATCHES "([^ \t\n]+) => not found")
  message(FATAL_ERROR "libtorch_cpu.so in ${EVENKEEL_TORCH}/lib must find all it links, but ${CMAKE_MATCH_1} "
                      "is missing; set EVENKEEL_TORCH to a CPU build, or let ./ek fetch one without it")
endif()

add_library(evenkeel::torch INTERFACE IMPORTED)
target_include_directories(evenkeel::torch SYSTEM INTERFACE
  ${EVENKEEL_TORCH}/include ${EVENKEEL_TORCH}/include/torch/csrc/api/include)
target_compile_definitions(evenkeel::torch INTERFACE FMT_HEADER_ONLY=1)
target_link_directories(evenkeel::torch INTERFACE ${EVENKEEL_TORCH}/lib)
# libtorch is 8 kB that say "torch is here"; what is used lies in the other two.
target_link_libraries(evenkeel::torch INTERFACE torch_cpu c10)
if(EK_CUDA)
  # Nothing calls torch_cuda by name: its operators register themselves. What it links of NVIDIA's is found
  # when the program starts.
  target_link_libraries(evenkeel::torch INTERFACE
    -Wl,--no-as-needed torch_cuda -Wl,--as-needed c10_cuda CUDA::cudart_static)
  target_link_options(evenkeel::torch INTERFACE -Wl,--allow-shlib-undefined)
endif()

# A LibTorch of the checkout is found relative to the program, so that a moved checkout works.
file(REAL_PATH "${EVENKEEL_TORCH}/lib" TORCH_RUNPATH)
file(REAL_PATH "${PROJECT_BINARY_DIR}" REAL_BUILD)
file(REAL_PATH "${PROJECT_SOURCE_DIR}" REAL_SOURCE)
cmake_path(IS_PREFIX REAL_SOURCE "${TORCH_RUNPATH}" TORCH_INSIDE)
cmake_path(IS_PREFIX REAL_SOURCE "${REAL_BUILD}" BUILD_INSIDE)
if(TORCH_INSIDE AND BUILD_INSIDE)
  file(RELATIVE_PATH TORCH_RUNPATH "${REAL_BUILD}" "${TORCH_RUNPATH}")
  string(PREPEND TORCH_RUNPATH "$ORIGIN/")
endif()
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)  # this entry alone: CMake's own is absolute
# Last the paths of an installed program: cmake --install and a wheel write a path that fits into the whole.
include(GNUInstallDirs)
set(CMAKE_INSTALL_RPATH "${TORCH_RUNPATH}" "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}"
                        "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/evenkeel")
target_link_options(evenkeel::torch INTERFACE
  -Wl,--enable-new-dtags -Wl,-rpath-link,${EVENKEEL_TORCH}/lib)
