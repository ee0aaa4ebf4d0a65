// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/kernels/adamw_factors.h"
#include "evenkeel/ops/optim/adamw.h"

/// What the adapters of adamw_ share, on every device.
namespace evenkeel::ops {

/// \throws c10::Error, which begins with [adamw_], if buffers do not fit each other or the step
void check_adamw(const AdamwBuffers& buffers, const AdamwStep& step);

/// The numbers of a step, turned into what each weight is multiplied with.
kernels::AdamwFactors factors_of(const AdamwStep& step);

}  // namespace evenkeel::ops
