// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The residual stream: a tensor, or a sum that is not written down yet, so that the add and the
/// norm that reads it can be one pass over memory.
class Stream {
 public:
  explicit Stream(at::Tensor value);
  /// skip + branch, later.
  Stream(at::Tensor skip, at::Tensor branch);

  /// What it is made of: itself, or skip and branch of a sum that is not written down. And back.
  std::vector<at::Tensor> pieces() const;
  static Stream of(const std::vector<at::Tensor>& pieces);

  /// The stream itself. [B, T, D]
  const at::Tensor& value();

  /// norm(stream); writes the sum down in the same pass where it can.
  at::Tensor normed(const NormLayer& norm, Mode mode);

 private:
  at::Tensor value_;          // undefined while the sum is pending
  at::Tensor skip_, branch_;  // undefined once it is not
};

}  // namespace evenkeel::nn
