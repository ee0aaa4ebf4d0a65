// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/bench/kernel_cases.h"
#include "evenkeel/bench/passes.h"

/// Memory-bound row operators.
namespace evenkeel::bench {

/// The memory traffic of one pass, in streams of the size of x.
struct Traffic {
  int reads = 0, writes = 0;
};

/// A row operator with up to three implementations.
struct RowOp {
  std::string name, shape;
  std::int64_t rows = 0, width = 0;  // sizes of one stream
  Traffic forward, backward;
  std::function<Tensors(at::ScalarType)> inputs;  // all of them require gradients
  Function ours, formula, torch;
  double allowed_forward = 1.15, allowed_backward = 1.30;  // ratios to the baseline; 0: no goal
};

/// Norms and SwiGLU for every width, operators of heads for every head width, and operators without
/// a goal for the first width.
std::vector<RowOp> row_ops(const KernelOptions& options);

}  // namespace evenkeel::bench
