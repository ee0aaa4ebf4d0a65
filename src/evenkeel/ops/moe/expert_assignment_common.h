// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/ops/moe/expert_assignment.h"

namespace evenkeel::ops {

/// An assignment whose offsets are zeros and whose other tensors are uninitialized, on the device
/// of scores.
/// \throws c10::Error, which begins with [expert_assignment], unless scores are [N, E] of float32
///         or float64 and k is 1 to E
ExpertAssignment empty_expert_assignment(const at::Tensor& scores, std::int64_t k);

}  // namespace evenkeel::ops
