// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The residual stream: a tensor, or a sum that is still pending, so that the add and the
/// norm that reads it can be one pass over memory.
class ResidualStream {
 public:
  explicit ResidualStream(at::Tensor value);
  /// skip + branch, later.
  ResidualStream(at::Tensor skip, at::Tensor branch);

  /// Its tensors: the value, or skip and branch of a pending sum. And back.
  std::vector<at::Tensor> tensors() const;
  static ResidualStream from_tensors(const std::vector<at::Tensor>& tensors);

  /// The stream itself. [B, T, D]
  const at::Tensor& value();

  /// norm(stream); computes a pending sum in the same pass where it can.
  at::Tensor normed(const NormLayer& norm, Mode mode);

 private:
  at::Tensor value_;          // undefined while the sum is pending
  at::Tensor skip_, branch_;  // undefined once it is not
};

}  // namespace evenkeel::nn
