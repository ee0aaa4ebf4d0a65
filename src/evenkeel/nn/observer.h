// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace evenkeel::nn {

struct AttentionInputs;
struct Routing;

/// The two sublayers of a block.
enum class Sublayer { attention, feed_forward };

/// Callbacks of a forward pass, like PyTorch's forward hooks. A callback gets the tensors of the
/// pass, in the compute dtype, and must not modify them. Empty functions are skipped. Blocks are
/// numbered from 1. Each callback is called once a pass, also with activation checkpointing: the
/// tensors of `branch`, `attention` and `routing` then have no graph.
struct Observer {
  /// The residual stream after block `l`; l = 0: the input of the first block. [B, T, D]
  std::function<void(std::int64_t l, const at::Tensor& stream)> stream;
  /// The branch of a sublayer of block `l`, before branch_scale and the residual addition, and the
  /// stream before that addition. Both [B, T, D].
  std::function<void(std::int64_t l, Sublayer sublayer, const at::Tensor& stream,
                     const at::Tensor& branch)>
      branch;
  /// The inputs of softmax(q k^T) v in block `l`.
  std::function<void(std::int64_t l, const AttentionInputs& inputs)> attention;
  /// The router's outputs in block `l`; called for blocks with a mixture of experts only.
  std::function<void(std::int64_t l, const Routing& routing)> routing;
};

}  // namespace evenkeel::nn
