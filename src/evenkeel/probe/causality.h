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

/// True if the kinds of the norms let outputs depend on later tokens:
///
///   batch_norm     in training, through mean and variance of the batch
///   batch_renorm   in training, through mean and variance of the batch, while a clip is active
///   instance_norm  always, through mean and variance of the sequence
///
/// The leak of batch_renorm is always expected. With open clips its output in training is that of
/// the running statistics, and nothing leaks: the claim of such a scheme is refuted. The kinds
/// alone decide, because an expectation from the model's own outputs would be circular: a
/// batch_renorm that has lost its clips would then pass.
bool leakage_expected(const norm::Scheme& scheme, nn::Mode mode);

/// The causality claims of one scheme, in training and in evaluation.
Claims causality_claims(const norm::Scheme& scheme, std::uint64_t seed);
/// The causality claims of all catalogue schemes.
Claims causality_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
