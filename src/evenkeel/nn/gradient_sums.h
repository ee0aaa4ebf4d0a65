// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"

namespace evenkeel::nn {

/// The gradient of a batch whose parts go through the model one after another. Parts add up where
/// backward leaves them; but a bfloat16 buffer would round every sum, so its parts are summed in
/// float32 beside it.
class GradientSums {
 public:
  /// Must outlive it.
  explicit GradientSums(Parameters& parameters);

  /// Before the first part: all gradients are zero. \param several  parts will follow one another
  void start(bool several);
  /// After each backward pass.
  void add();

  /// One flat tensor a group: its own buffer, or the sum beside it.
  const std::vector<at::Tensor>& all() const { return sums_; }

 private:
  Parameters* parameters_;
  std::vector<at::Tensor> sums_;
};

}  // namespace evenkeel::nn
