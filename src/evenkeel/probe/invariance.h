// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "evenkeel/probe/claims.h"
#include "evenkeel/probe/invariance_table.h"

namespace evenkeel::probe {

/// A norm as a function of its input: [B, T, D] to [B, T, D], float64.
using NormFunction = std::function<at::Tensor(const at::Tensor& z)>;

/// The norm of a table row as a function, computed by nn::NormLayer. Gains and biases are random
/// around their initial values. Each call starts with the same running statistics.
/// \param fused  false: the reference implementation (ops/common/reference.h)
NormFunction norm_function(const InvarianceRow& row, bool fused);

/// One claim per change of the input. With outputs y and y' before and after the change, the claim
/// limits max |y' - y| / max |y|: "invariant" is at most a rounding error, "changes" at least 1e-3.
/// \param implementations  implementations of the norm; the claim uses the worst result
Claims claims_for(const InvarianceRow& row, const std::vector<NormFunction>& implementations);

/// The claims of all rows, each for the fused and the reference implementation.
Claims invariance_claims();

/// Claims that norm kinds are equal, measured by the largest error of their outputs:
///
///   RMSNorm of centered rows          = LayerNorm
///   sqrt(D) L2                        = RMSNorm
///   ScaleNorm with gain sqrt(D)       = RMSNorm
///   GroupNorm with one group          = LayerNorm
///   Batch Renorm, rate_max 1, shift_max 0 = BatchNorm
Claims equality_claims();

}  // namespace evenkeel::probe
