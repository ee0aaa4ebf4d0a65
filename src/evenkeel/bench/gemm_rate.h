// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::bench {

/// Forward GEMMs x w^T: those with the most FLOPs in a training step, by LibTorch and by
/// ops::deterministic_linear(). The name of an arm is the FLOPs of its GEMM.
std::vector<Arm> gemm_arms(const norm::Shape& shape, std::int64_t tokens, at::ScalarType dtype);

/// The FLOP/s of the fastest GEMM, the peak of the roofline model.
double best_gemm_rate(const std::vector<Arm>& gemms);

}  // namespace evenkeel::bench
