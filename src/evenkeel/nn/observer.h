// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "evenkeel/nn/mixture_of_experts.h"

namespace evenkeel::nn {

/// Queries, keys and values of one attention.
struct AttentionInputs {
  at::Tensor q;      // [B, h, T, dk], after norm and rotation; a learned score scale is in it
  at::Tensor k;      // [B, kv, S, dk]
  at::Tensor v;      // [B, kv, S, dk]
  double scale = 1;  // of q . k
  std::optional<double> softcap;
  at::Tensor document_starts;  // [B, T], int32: the first position that a query sees; undefined: 0
};

enum class Sublayer { attention, feed_forward };

/// Callbacks of a forward pass. Each function is handed the tensors themselves and must
/// not change them; one that is empty costs nothing.
struct Observer {
  /// The stream that leaves block `l`; of l = 0 what enters the first. [B, T, width]
  std::function<void(std::int64_t l, const at::Tensor& stream)> stream;
  /// A branch of block `l` before it is scaled and added, and the stream it will be added to.
  std::function<void(std::int64_t l, Sublayer sublayer, const at::Tensor& stream,
                     const at::Tensor& branch)>
      branch;
  std::function<void(std::int64_t l, const AttentionInputs& inputs)> attention;
  /// Of a block that is a mixture of experts.
  std::function<void(std::int64_t l, const Routing& routing)> routing;
};

}  // namespace evenkeel::nn
