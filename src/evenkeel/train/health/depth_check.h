// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/train/health/health_event.h"

namespace evenkeel::train {

/// Compares L2 norms of gradients along the depth: at most one of dead_blocks, vanishing and
/// exploding_depth, and feed_forward (the conditions are those of HealthCheck). None where a
/// gradient is not finite.
/// \param gradients  one flat buffer for each parameter group
std::vector<HealthEvent> check_depth(const nn::Parameters& parameters,
                                     const std::vector<at::Tensor>& gradients,
                                     const norm::Scheme& scheme);

}  // namespace evenkeel::train
