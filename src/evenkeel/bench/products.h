// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::bench {

/// The products of a training step that have the most FLOPs, forward: x w^T. Each is named after
/// its FLOPs.
std::vector<Arm> products(const norm::Shape& shape, std::int64_t tokens, at::ScalarType dtype);

/// FLOP/s of the fastest of such products: what a floor is computed from.
double best_rate(const std::vector<Arm>& products);

}  // namespace evenkeel::bench
