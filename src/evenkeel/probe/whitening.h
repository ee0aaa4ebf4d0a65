// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// ZCA whitening of tokens: (x - mean) C^(-1/2) with the covariance C of the features. The result
/// has mean 0 and the identity as covariance.
/// \param x  [tokens, D], float64; C must be regular
/// \return [tokens, D]
/// \source Huang et al. 2018, arXiv:1804.08450, equation 4
at::Tensor whitened(const at::Tensor& x);

/// Claims on one batch of correlated features: variances and covariances after whitening, BatchNorm
/// and LayerNorm, and the condition number of the least-squares problem of a linear layer on them,
/// which bounds the rate of gradient descent. Only whitening decorrelates.
Claims whitening_claims();

}  // namespace evenkeel::probe
