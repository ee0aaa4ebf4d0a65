// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameters.h"

namespace evenkeel::train {

/// Arithmetic and threads of this process.
struct Machine {
  nn::Precision precision = nn::Precision::float32;
  int threads = 1;          // of LibTorch and of our kernels
  std::string isa;          // of our kernels: "amx-bf16", "avx512", "avx2", ...
  std::string description;  // one line for the user: "AMD EPYC, avx2, 2 threads, float32 (...)"
};

/// Resolves "auto" and sets the number of threads of this process: bfloat16 where the processor
/// multiplies it in hardware (AMX), else float32; one thread a core.
Machine configure_machine(const config::Train& train);

/// The mode of activation checkpointing that model.recompute names.
nn::Recompute recompute_of(const config::Config& config);

/// The predicted memory of one optimizer step.
/// \param padded_vocabulary  rows of the embedding
nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, nn::Precision precision);

/// The fields of provenance.json on program and machine: versions, commit, processor, threads,
/// instruction set, precision.
nlohmann::ordered_json provenance_of(const Machine& machine);

/// Free memory of this machine in bytes (MemAvailable of /proc/meminfo); 0 where it is unknown.
double available_bytes();

/// Installed memory and swap space of this machine in bytes; 0 where they are unknown.
double total_bytes();

/// Sequences that go through the model at once: train.micro_batch. "auto" is the largest number
/// with at most 8,192 tokens and 1 GiB of float32 logits; at least one, at most train.batch.
std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary);

/// The number of sequences in an evaluation: micro_batch_size(), at most the one of "auto".
std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary);

}  // namespace evenkeel::train
