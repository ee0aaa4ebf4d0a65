// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/train/health/health_event.h"

namespace evenkeel::train {

/// Compares the L2 norms of gradients across blocks and sublayers. Returns at most one of vanishing
/// and exploding_depth, one dead_blocks for each dead block or one for all, and perhaps
/// feed_forward; HealthCheck lists their conditions. A block whose branches the scheme multiplies
/// by 0 at this step is ignored. Empty if a gradient is not finite.
/// \param gradients  one flat buffer per parameter group
/// \param steps      steps before these gradients: expressions of the scheme may depend on them
std::vector<HealthEvent> check_depth(const nn::Parameters& parameters,
                                     const std::vector<at::Tensor>& gradients,
                                     const norm::Scheme& scheme, const norm::Steps& steps);

}  // namespace evenkeel::train
