// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::probe {

/// How much a token changes the outputs at earlier positions: the largest change of an earlier
/// logit, against the largest at the token itself, over several positions of a small model's
/// context. Not a number where the token does not even change its own output.
double causal_leakage(const norm::Scheme& scheme, nn::Mode mode, std::uint64_t seed);

/// Whether leakage is expected: outputs depend on later tokens
///   batch_norm    in training, through the mean and the variance of the batch
///   batch_renorm  in training, while a clip holds; with both open it uses the running values only
///   instance_norm always, through those of the sequence
bool leakage_expected(const norm::Scheme& scheme, nn::Mode mode);

/// Of one scheme, in training and in evaluation.
Claims causality_claims(const norm::Scheme& scheme, std::uint64_t seed);
/// Of every scheme of the catalogue.
Claims causality_claims(std::uint64_t seed);

}  // namespace evenkeel::probe
