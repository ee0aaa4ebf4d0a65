// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/plan/machine.h"

namespace evenkeel::train {

using plan::Machine;

/// Resolves "auto". Precision "auto" is bfloat16 on GPUs, on processors with AMX and where
/// CpuFeatures::fast_bf16_dot, else float32. Threads "auto" is one thread per core, divided by the
/// ranks that share it.
Machine machine_of(const config::Train& train, std::int64_t ranks_on_cores = 1);

/// machine_of(), with its number of threads and its rules of rounding for this process.
/// \throws Error (busy, exit code 75) if so many threads cannot be created
Machine configure_machine(const config::Train& train, std::int64_t ranks_on_cores = 1);

/// Sets Machine::ranks and, to this rank's share of what is free now, Machine::free_memory.
void share_memory(Machine& machine, const comm::Group& group);

/// Whose products of float32 a device computes: "evenkeel" on CPUs of AMD with AVX2, else
/// "libtorch".
const char* float32_products(at::Device device);

/// The fields of provenance.json on program and machine: versions, commit, processor, threads,
/// instruction set, precision.
nlohmann::ordered_json provenance_of(const Machine& machine);

}  // namespace evenkeel::train
