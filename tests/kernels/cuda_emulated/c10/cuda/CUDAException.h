// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes precedence over LibTorch's header of this name.
#include <c10/util/Exception.h>

#include <string>

#include "kernels/cuda_emulated/cuda_runtime_api.h"

#define C10_CUDA_CHECK(EXPRESSION)                                                 \
  do {                                                                             \
    if (const cudaError_t ek_error = (EXPRESSION); ek_error != cudaSuccess) {      \
      throw c10::Error(std::string("CUDA error: ") + cudaGetErrorString(ek_error), \
                       /*backtrace=*/nullptr);                                     \
    }                                                                              \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
