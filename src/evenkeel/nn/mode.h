// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// The purpose of a forward pass, as torch.nn.Module.train() and eval(). In training, batch norms
/// use the statistics of the batch and update their running statistics, and sigma_reparam makes a
/// step of power iteration.
enum class Mode { training, evaluation };

/// Activation checkpointing: what the backward pass recomputes instead of reading it from memory.
/// The results have the same bits.
enum class Recompute {
  none,
  norms,  // outputs of norms that are the input of a linear layer
  block   // whole blocks: only the input of each block is saved
};

}  // namespace evenkeel::nn
