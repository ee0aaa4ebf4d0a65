// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::ops {

bool is_cuda_build() {
  return false;
}

int gpu_count() {
  return 0;
}

const std::string& gpu_error() {
  static const std::string none;
  return none;
}

GpuInfo gpu_info(int /*index*/) {
  EK_ASSERT(!"a CPU build has no GPUs");
  return {};
}

std::int64_t free_gpu_bytes(int /*index*/) {
  EK_ASSERT(!"a CPU build has no GPUs");
  return 0;
}

void use_gpu(int /*index*/, bool /*is_deterministic*/) {
  EK_ASSERT(!"a CPU build has no GPUs");
}

void synchronize_gpu() {}

std::int64_t gpu_peak_bytes(int /*index*/) {
  return 0;
}

}  // namespace evenkeel::ops
