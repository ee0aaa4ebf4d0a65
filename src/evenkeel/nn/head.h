// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/nn/build.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/z_loss.h"

namespace evenkeel::nn {

/// The last linear layer (PyTorch: `lm_head`), from hidden states to logits:
///
///   logits = cap(logits_scale * W x),   cap(z) = c tanh(z / c) with logits_softcap c
struct Head {
  const Parameter& weight;  // W, [V or more, D]; of the embedding if tied; unless quantized
  const Layers& layers;     // logits_scale and logits_softcap of the current step
  std::int64_t vocabulary;  // V
  at::ScalarType logits_dtype;
  bool fused;  // one operator computes the loss (kernels.fused)
};

/// \param x  [..., D]
/// \return [..., V], Head::logits_dtype
at::Tensor head_logits(const Head& head, const at::Tensor& x);

/// The sum of -ln p of the targets, without logits in memory if `fused`.
/// \param x        [N, D]
/// \param targets  [N], int64; negative: not scored
/// \param z_loss   not null: its coefficient times the sum of lse^2 is added; receives both sums
/// \return [], in nats
at::Tensor head_loss_sum(const Head& head, const at::Tensor& x, const at::Tensor& targets,
                         ZLoss* z_loss = nullptr);

}  // namespace evenkeel::nn
