// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes precedence over LibTorch's header of this name.
#include "kernels/cuda_emulated/launch.h"

namespace c10::cuda {

inline CUstream_st* getCurrentCUDAStream() {
  return evenkeel::emulated::current_stream();
}

}  // namespace c10::cuda
