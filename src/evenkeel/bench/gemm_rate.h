// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::bench {

/// The GEMMs of a training step with the most FLOPs, forward: x w^T. Each is named after
/// its FLOPs.
std::vector<Arm> gemm_arms(const norm::Shape& shape, std::int64_t tokens, at::ScalarType dtype);

/// FLOP/s of the fastest of these GEMMs: the peak of the roofline.
double best_gemm_rate(const std::vector<Arm>& gemms);

}  // namespace evenkeel::bench
