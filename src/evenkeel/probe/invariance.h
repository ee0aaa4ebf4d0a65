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

/// The norm of a row of the table, by nn::NormLayer. Gains and biases are random around their
/// initial values. Each call starts with the same running statistics.
/// \param fused  false: the formulas of ops/common/reference.h
NormFunction norm_function(const InvarianceRow& row, bool fused);

/// One claim for each change of the input. With outputs y and y' before and after the change,
/// max |y' - y| / max |y| is rounding where the table says invariant, and at least 1e-3 where it
/// says changes.
/// \param implementations  of the norm; the claim is about the worst of them
Claims claims_for(const InvarianceRow& row, const std::vector<NormFunction>& implementations);

/// The claims of all rows, each in both implementations.
Claims invariance_claims();

/// Kinds that equal other kinds, by the largest error of their outputs:
///
///   RMSNorm of centred rows           = LayerNorm
///   sqrt(D) L2                        = RMSNorm
///   ScaleNorm with the gain sqrt(D)   = RMSNorm
///   GroupNorm with one group          = LayerNorm
///   Batch Renorm with closed clips    = BatchNorm
Claims equality_claims();

}  // namespace evenkeel::probe
