// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::nn {

/// What a forward pass is for. Norms over a batch take their statistics from it in training, and
/// move their running values; sigma_reparam moves its vectors.
enum class Mode { training, evaluation };

/// What the backward pass computes again instead of keeping it. The bits are the same.
enum class Recompute {
  none,
  norms,  // what norms write, where a product reads it
  block   // all of a block: only what enters it is kept
};

}  // namespace evenkeel::nn
