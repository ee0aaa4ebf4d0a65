// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The residual stream: a tensor, or a pending sum skip + branch. The sum is deferred until a norm
/// reads it, so that ops::add_rms_norm() can compute both.
class ResidualStream {
 public:
  /// \param value  [B, T, D]
  explicit ResidualStream(at::Tensor value);
  /// A pending sum.
  /// \param skip, branch  [B, T, D]
  ResidualStream(at::Tensor skip, at::Tensor branch);

  /// The tensors of the stream as the inputs of a checkpointed segment: {value}, or {skip, branch}
  /// of a pending sum.
  std::vector<at::Tensor> tensors() const;
  /// The inverse of tensors().
  static ResidualStream from_tensors(const std::vector<at::Tensor>& tensors);

  /// The stream, [B, T, D]. Computes a pending sum.
  const at::Tensor& value();

  /// norm(stream), [B, T, D]. A pending sum is computed by the same operator if the norm supports
  /// it (NormLayer::add_and_norm()).
  at::Tensor normed(const NormLayer& norm, Mode mode);

 private:
  at::Tensor value_;          // [B, T, D]; undefined while the sum is pending
  at::Tensor skip_, branch_;  // [B, T, D]; defined while the sum is pending
};

}  // namespace evenkeel::nn
