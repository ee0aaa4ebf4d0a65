// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::nn {

/// Each row times its weight, rounded once: y[m] = weights[m] x[m].
/// \param x        [M, D]; a CPU's
/// \param weights  [M], float32, or float64 beside float64
/// \return [M, D], of the dtype of x
at::Tensor scale_rows(const at::Tensor& x, const at::Tensor& weights);

}  // namespace evenkeel::nn
