// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "evenkeel/config/config.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::bench {

/// The description of a model and its training for bench/peers/torch_peer.py.
/// \throws Error (usage, exit code 64), with the first unsupported property. The script supports
///         rms_norm with a gain before and after the sublayers, per head on q, k and v, and the
///         skip input "normed".
nlohmann::ordered_json peer_setup(const config::Config& config, const norm::Scheme& scheme,
                                  const train::Machine& machine);

}  // namespace evenkeel::bench
