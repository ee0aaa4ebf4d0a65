// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace evenkeel::train {

/// Adds up the gradients of shards as they come, in the binary tree of kernels/reduction_order.h.
/// It holds at most log2(shards) gradients besides the one that is added.
class GradientTree {
 public:
  /// Adds the gradient of the next shard. With the last one, `gradients` become the sum of all, and
  /// the tree is empty again. Otherwise their memory is free for the next shard.
  /// \param gradients  one flat buffer per parameter group; overwritten
  void add(const std::vector<at::Tensor>& gradients, bool is_last);

 private:
  struct Partial {
    std::vector<at::Tensor> sum;  // of 2^level consecutive shards
    int level = 0;
  };
  std::vector<Partial> waiting_;  // of falling levels
};

}  // namespace evenkeel::train
