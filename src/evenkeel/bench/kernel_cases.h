// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"

namespace evenkeel::bench {

/// A benchmark of one operator pass at one shape, with a baseline and alternatives.
struct KernelCase {
  std::string op;      // "rms_norm"
  std::string pass;    // "forward", "backward", "both", "step"
  std::string dtype;   // "float32", "bfloat16"
  std::string shape;   // "4096 x 768"
  double bytes = 0;    // minimum memory traffic per call; 0 if compute-bound
  double flops = 0;    // FLOPs per call if compute-bound
  double allowed = 0;  // largest permitted ratio to the baseline (docs/performance.md); 0: no goal
  /// Creates the operands and the arms:
  ///
  ///   ours     Evenkeel's operator, the first arm
  ///   probe    the baseline: equal memory traffic without arithmetic; loss head: its GEMMs
  ///   formula  plain LibTorch operators
  ///   torch    LibTorch's fused operator, if there is one
  std::function<std::vector<Arm>()> arms;
};

/// The sizes of the operands.
struct KernelOptions {
  std::int64_t rows = 4096;
  std::vector<std::int64_t> widths = {768, 1024, 2048};
  std::vector<std::int64_t> head_widths = {48, 64, 128};
  std::int64_t parameters = 20'000'000;  // number of parameters of the AdamW case
};

/// All cases, in float32 and bfloat16: row operators, AdamW, then matmul_cases().
std::vector<KernelCase> kernel_cases(const KernelOptions& options);

/// The compute-bound cases: attention, loss head, mixture of experts (kernel_cases_matmul.cpp).
std::vector<KernelCase> matmul_cases();

}  // namespace evenkeel::bench
