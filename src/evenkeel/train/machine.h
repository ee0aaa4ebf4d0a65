// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameters.h"

namespace evenkeel::train {

/// Arithmetic and threads that fit this processor.
struct Machine {
  nn::Precision precision = nn::Precision::float32;
  int threads = 1;
  std::string isa;          // of our kernels: "amx-bf16", "avx512", "avx2", ...
  std::string description;  // one line for the user: "AMD EPYC, avx2, 2 threads, float32 (...)"
};

/// Resolves "auto": bfloat16 where the processor multiplies it in hardware (AMX),
/// else float32; as many threads as cores. Sets the number of threads of this process.
Machine configure_machine(const config::Train& train);

nn::Recompute recompute_of(const config::Config& config);

/// What one step of a run takes. \param padded_vocabulary  rows of the embedding
nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, nn::Precision precision);

/// Versions, commit, processor, threads, instruction set: what provenance.json says of the program.
nlohmann::ordered_json provenance_of(const Machine& machine);

/// Bytes of memory that are free on this machine; 0 where the kernel does not say.
double available_bytes();

/// Bytes of memory that this machine has, with what it may swap out; 0 where the kernel does not
/// say.
double total_bytes();

/// Sequences that go through the model at once: train.micro_batch, or where it is "auto" as many
/// as keep the logits below 1 GiB and the tokens at 8,192, and at least one.
std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary);

/// The same for an evaluation, which needs less memory: a large micro_batch is cut to the
/// automatic.
std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary);

}  // namespace evenkeel::train
