// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::bench {

/// The resource usage of this process so far.
struct Usage {
  double peak_bytes = 0;  // peak memory of tensors on the GPU, else peak resident set size
  double faults = 0;      // minor page faults
};

inline Usage usage() {
  rusage all{};
  getrusage(RUSAGE_SELF, &all);
  const auto device = ops::compute_device();
  const double peak = device.is_cuda() ? static_cast<double>(ops::gpu_peak_bytes(device.index()))
                                       : 1024.0 * static_cast<double>(all.ru_maxrss);
  return {peak, static_cast<double>(all.ru_minflt)};
}

}  // namespace evenkeel::bench
