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

GpuInfo gpu_info(int /*index*/) {
  EK_ASSERT(!"a CPU build has no GPUs");
  return {};
}

void use_gpu(int /*index*/, bool /*is_deterministic*/) {
  EK_ASSERT(!"a CPU build has no GPUs");
}

void synchronize_gpu() {}

std::int64_t gpu_peak_bytes(int /*index*/) {
  return 0;
}

}  // namespace evenkeel::ops
