// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"

namespace evenkeel::bench {

/// A benchmark of one operator in one direction and shape, against a lower bound and alternatives.
struct KernelCase {
  std::string op;      // "rms_norm"
  std::string pass;    // "forward", "backward", "both", "step"
  std::string dtype;   // "float32", "bfloat16"
  std::string shape;   // "4096 x 768"
  double bytes = 0;    // minimum memory traffic of a call; 0 if the operator is compute-bound
  double flops = 0;    // of a call, if it is compute-bound
  double allowed = 0;  // largest ratio to the probe (docs/performance.md); 0: no goal
  /// Ours first. "probe": equal memory traffic without arithmetic; of the loss head its three
  /// matrix products alone. "formula": plain LibTorch operations. "torch": LibTorch's fused
  /// operator, if it has one. Operands are made when this is called.
  std::function<std::vector<Arm>()> arms;
};

/// The sizes of the operands.
struct KernelOptions {
  std::int64_t rows = 4096;
  std::vector<std::int64_t> widths = {768, 1024, 2048};
  std::vector<std::int64_t> head_widths = {48, 64, 128};
  std::int64_t parameters = 20'000'000;  // of the optimizer
};

/// All cases: row operators, AdamW, then matmul_cases(); each in float32 and bfloat16.
std::vector<KernelCase> kernel_cases(const KernelOptions& options);

/// The compute-bound cases: attention, loss head, mixture of experts (kernel_cases_matmul.cpp).
std::vector<KernelCase> matmul_cases();

}  // namespace evenkeel::bench
