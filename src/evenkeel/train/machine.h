// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/plan/machine.h"

namespace evenkeel::train {

using plan::Machine;

/// Resolves "auto" and sets the number of threads of this process. Precision "auto" is bfloat16 on
/// processors with AMX, else float32. Threads "auto" is one thread per core.
Machine configure_machine(const config::Train& train);

/// The fields of provenance.json on program and machine: versions, commit, processor, threads,
/// instruction set, precision.
nlohmann::ordered_json provenance_of(const Machine& machine);

/// Available memory of this machine in bytes (MemAvailable of /proc/meminfo); 0 if unknown.
double available_bytes();

/// Installed memory plus swap space of this machine in bytes; 0 if unknown.
double total_bytes();

}  // namespace evenkeel::train
