// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameters.h"

namespace evenkeel::train {

/// The arithmetic and the threads of this process.
struct Machine {
  nn::Precision precision = nn::Precision::float32;
  int threads = 1;  // threads of LibTorch and of Evenkeel's kernels
  std::string isa;  // instruction set of Evenkeel's kernels: "amx-bf16", "avx512", "avx2", ...
  std::string description;  // for people: "AMD EPYC, avx2, 2 threads, float32 (...)"
};

/// Resolves "auto" and sets the number of threads of this process. Precision "auto" is bfloat16 on
/// processors with AMX, else float32. Threads "auto" is one thread per core.
Machine configure_machine(const config::Train& train);

/// The activation-checkpointing mode that model.recompute selects.
nn::Recompute recompute_of(const config::Config& config);

/// The predicted memory of one optimizer step.
/// \param padded_vocabulary  number of rows of the embedding
nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, nn::Precision precision);

/// The provenance.json fields about program and machine: versions, commit, processor, threads,
/// instruction set, precision.
nlohmann::ordered_json provenance_of(const Machine& machine);

/// Available memory of this machine in bytes (MemAvailable of /proc/meminfo); 0 if unknown.
double available_bytes();

/// Installed memory plus swap space of this machine in bytes; 0 if unknown.
double total_bytes();

/// The micro-batch size: sequences per forward pass (train.micro_batch). "auto" is the largest size
/// with at most 8,192 tokens and 1 GiB of float32 logits, at least 1 and at most train.batch.
std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary);

/// The evaluation batch size in sequences: micro_batch_size(), but at most the value of "auto".
std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary);

}  // namespace evenkeel::train
