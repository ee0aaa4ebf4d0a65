# EK_CUDA: the language CUDA for src/evenkeel/kernels/cuda, and CUDA's headers for the adapters in
# src/evenkeel/ops.
#   CMAKE_CUDA_ARCHITECTURES   the cards; by default A100, H100 and H200, B200, and later ones by PTX
#   EK_CUDNN_FRONTEND          folders of headers, for deterministic gradients of attention by cuDNN
if(NOT EK_CUDA)
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 100-real 100-virtual)
endif()
enable_language(CUDA)
find_package(CUDAToolkit 12.8 REQUIRED)
# EK_CUDNN_FRONTEND_OPTIONS: compiler options of ops/attention/cudnn_backward_cuda.cpp, if it is built. Nothing of cuDNN
# is linked.
set(EK_CUDNN_FRONTEND "" CACHE STRING
    "Folders that hold cudnn_frontend.h, cudnn.h and, if CUDA has none, nvrtc.h; empty: no attention by cudnn_frontend")
set(EK_CUDNN_FRONTEND_OPTIONS "")
if(EK_CUDNN_FRONTEND)
  foreach(HEADER cudnn_frontend.h cudnn.h nvrtc.h)
    unset(FOUND_FOLDER)
    find_path(FOUND_FOLDER ${HEADER} PATHS ${EK_CUDNN_FRONTEND} ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
    if(NOT FOUND_FOLDER)
      message(FATAL_ERROR "EK_CUDNN_FRONTEND must list the folder of ${HEADER}, but is \"${EK_CUDNN_FRONTEND}\"")
    endif()
  endforeach()
  foreach(FOLDER IN LISTS EK_CUDNN_FRONTEND)
    list(APPEND EK_CUDNN_FRONTEND_OPTIONS -isystem${FOLDER})
  endforeach()
endif()
# CMake 3.25 does not know what nvcc calls C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
