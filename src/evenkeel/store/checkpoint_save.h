// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// save_checkpoint() with replaceable system calls. Internal, for tests.
void save_checkpoint(const SystemCalls& system, const Lock& lock, const CheckpointContent& content,
                     std::int64_t keep);

inline constexpr const char* kCheckpointsName = "checkpoints";

/// The steps of all entries of RUN/checkpoints that have a checkpoint's name, in ascending order.
std::vector<std::int64_t> listed_steps(const Directory& checkpoints);

}  // namespace evenkeel::store
