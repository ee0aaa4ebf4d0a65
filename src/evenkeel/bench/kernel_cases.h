// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"

namespace evenkeel::bench {

/// One operator in one direction and shape, against what it could be and what there is.
struct KernelCase {
  std::string op;      // "rms_norm"
  std::string pass;    // "forward", "backward", "both", "step"
  std::string dtype;   // "float32", "bfloat16"
  std::string shape;   // "4096 x 768"
  double bytes = 0;    // that it cannot help moving; 0 where arithmetic decides
  double flops = 0;    // where it does
  double allowed = 0;  // times the probe: docs/performance.md; 0: no goal
  /// Ours first; then "probe": the same memory traffic without arithmetic, or of the loss head its
  /// three products alone; "formula": plain LibTorch operations; "torch": its own fused operator,
  /// where there is one.
  std::function<std::vector<Arm>()> arms;
};

/// What is timed with which sizes.
struct KernelOptions {
  std::int64_t rows = 4096;
  std::vector<std::int64_t> widths = {768, 1024, 2048};
  std::vector<std::int64_t> head_widths = {48, 64, 128};
  std::int64_t parameters = 20'000'000;  // of the optimizer
};

std::vector<KernelCase> kernel_cases(const KernelOptions& options);

/// The compute-bound ones: attention, loss head, mixture of experts (kernel_cases_matmul.cpp).
std::vector<KernelCase> matmul_cases();

}  // namespace evenkeel::bench
