// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "evenkeel/comm/group.h"
#include "evenkeel/comm/place.h"
#include "evenkeel/comm/rank_device.h"
#include "evenkeel/comm/roll_call.h"

namespace evenkeel::comm {

/// The keys of [distributed] that concern the connection (docs/distributed.md).
struct JoinOptions {
  std::chrono::seconds connect_timeout{300};
  std::chrono::seconds heartbeat_timeout{10};
  std::chrono::seconds collective_timeout{600};
  std::string interface = "auto";
  std::string backend = "auto";
  RankDevice device;  // no key: of --device
};

/// Forms the group of all ranks: store, watch, roll call, engine. One rank is a group at once.
/// \param facts  what must be equal on all ranks: versions, the configuration
/// \throws Error (busy, exit code 75) if a port is in use, or ranks are missing; (usage, 64) if
///         numbers of ranks differ, there is no such interface, or as device_engine(); (differs,
///         78) if facts differ. A rank where another one already printed the same error ends
///         without a message
Group join(const Place& place, const JoinOptions& options, const Facts& facts);

}  // namespace evenkeel::comm
