// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// What a forward pass is for. Norms over a batch take their statistics from it in training, and
/// move their running values; sigma_reparam moves its vectors.
enum class Mode { training, evaluation };

/// Activation checkpointing: what the backward pass recomputes instead of saving. Same bits.
enum class Recompute {
  none,
  norms,  // what norms write, where a product reads it
  block   // a whole block: only its input is saved
};

}  // namespace evenkeel::nn
