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

/// Streams of one direction, all of the size of x.
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

/// All of them: norms and SwiGLU of every width, heads of every width, and of the first width what
/// has no goal.
std::vector<RowOp> row_ops(const KernelOptions& options);

}  // namespace evenkeel::bench
