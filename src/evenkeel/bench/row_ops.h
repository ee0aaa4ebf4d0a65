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

/// Memory traffic of one direction in streams, each of the size of x.
struct Traffic {
  int reads = 0, writes = 0;
};

/// A row operator in up to three implementations.
struct RowOp {
  std::string name, shape;
  std::int64_t rows = 0, width = 0;  // of one stream
  Traffic forward, backward;
  std::function<Tensors(at::ScalarType)> inputs;  // all of them have a gradient
  Function ours, formula, torch;
  double allowed_forward = 1.15, allowed_backward = 1.30;  // times the probe; 0: no goal
};

/// Norms and SwiGLU of every width, operators of heads of every head width, and in the first width
/// the operators without a goal.
std::vector<RowOp> row_ops(const KernelOptions& options);

}  // namespace evenkeel::bench
