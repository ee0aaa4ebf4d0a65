// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// Training or evaluation, as torch.nn.Module.train() and eval(). In training, batch norms use the
/// statistics of the batch and update their running statistics, and sigma_reparam performs a power
/// iteration.
enum class Mode { training, evaluation };

/// Activation checkpointing: the activations that the backward pass recomputes. Results are bitwise
/// identical in all modes.
enum class Recompute {
  none,
  norms,  // norm outputs that are inputs of a linear layer
  block   // whole layers: only the input of each layer is saved
};

}  // namespace evenkeel::nn
