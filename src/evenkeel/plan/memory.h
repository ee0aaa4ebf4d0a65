// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/mode.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::plan {

/// The mode of activation checkpointing in model.recompute.
nn::Recompute recompute_of(const config::Config& config);

/// The predicted peak memory of one optimizer step, in bytes by purpose.
/// \param scheme  bound to the shape of the model
/// \param padded_vocabulary  rows of the embedding
nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, nn::Precision precision);

}  // namespace evenkeel::plan
