// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/train/health/health_event.h"

namespace evenkeel::train {

/// Compares the L2 norms of gradients across blocks and sublayers. Returns at most one of
/// dead_blocks, vanishing and exploding_depth, and perhaps feed_forward; HealthCheck lists their
/// conditions. Empty if a gradient is not finite.
/// \param gradients  one flat buffer per parameter group
std::vector<HealthEvent> check_depth(const nn::Parameters& parameters,
                                     const std::vector<at::Tensor>& gradients,
                                     const norm::Scheme& scheme);

}  // namespace evenkeel::train
