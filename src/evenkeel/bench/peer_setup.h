// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "evenkeel/config/config.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::bench {

/// What bench/peers/torch_peer.py must know of a model and its training.
/// \throws Error (usage) that names the first thing which that script does not have: it knows
///         rms_norm with a gain before and after the sublayers, per head on q, k and v, and skips
///         from the normed stream
nlohmann::ordered_json peer_setup(const config::Config& config, const norm::Scheme& scheme,
                                  const train::Machine& machine);

}  // namespace evenkeel::bench
