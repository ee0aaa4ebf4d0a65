// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// The causal leakage of a small model: the largest change of a logit at earlier positions after a
/// token changes, divided by the largest change at the token itself. Maximum over several
/// positions. NaN if a changed token does not change its own logits.
double causal_leakage(const norm::Scheme& scheme, nn::Mode mode, std::uint64_t seed);

/// True if outputs depend on later tokens:
///
///   batch_norm     in training, through mean and variance of the batch
///   batch_renorm   in training, while a clip is active; else it uses running statistics only
///   instance_norm  always, through mean and variance of the sequence
///
/// A clip of batch_renorm is active if the output in training is not that in evaluation, which is
/// of the running statistics. This depends on the model and the text: those of causal_leakage().
bool leakage_expected(const norm::Scheme& scheme, nn::Mode mode, std::uint64_t seed = 1);

/// The causality claims of one scheme, in training and in evaluation.
Claims causality_claims(const norm::Scheme& scheme, std::uint64_t seed);
/// The causality claims of all catalogue schemes.
Claims causality_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
