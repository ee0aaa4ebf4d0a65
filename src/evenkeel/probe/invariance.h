// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "evenkeel/probe/claims.h"
#include "evenkeel/probe/invariance_table.h"

namespace evenkeel::probe {

/// A norm as a function of its input. [B, T, D] -> [B, T, D]
using NormFunction = std::function<at::Tensor(const at::Tensor& z)>;

/// The norm of a row through nn::NormLayer, with gains and biases around their initial values;
/// running values start anew at each call.
/// \param fused  false: the formulas of ops/reference.h
NormFunction norm_function(const InvarianceRow& row, bool fused);

/// One claim for each change: max |y' - y| / max |y| of the outputs y is rounding where the table
/// says invariant, and far more where it says changes.
/// \param implementations  of the norm; the worst of them counts
Claims claims_for(const InvarianceRow& row, const std::vector<NormFunction>& implementations);

/// The whole table.
Claims invariance_claims();

/// Kinds that equal other kinds, as the largest error of their outputs: RMSNorm is
/// LayerNorm on centred rows; sqrt(D) L2 is RMSNorm, and so is ScaleNorm with the gain sqrt(D);
/// GroupNorm of one group is LayerNorm; Batch Renorm with closed clips is BatchNorm.
Claims equality_claims();

}  // namespace evenkeel::probe
