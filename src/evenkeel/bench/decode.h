// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::bench {

/// What `bench decode` times.
struct DecodeRequest {
  std::vector<std::string> weights;   // "float32", "bfloat16" or "int8"; ratios are to the first
  std::vector<std::int64_t> batches;  // sequences per step
  std::int64_t prompt = 128;          // tokens of each sequence in the cache before the first step
  int rounds = 9;
};

/// One token of each of `batch` sequences, with the weights in one dtype.
struct DecodeArm {
  std::string weights;
  std::int64_t batch = 1;
  Timing timing;                       // seconds per step, from token ids to logits
  Ratio against_first;                 // of the same batch
  std::optional<double> weight_bytes;  // read by a step; nullopt for a mixture of experts
  std::optional<Ratio> over_copy;      // weight_bytes / time, over the bytes/s of a copy
};

/// A prompt of one sequence, and its forward pass without a cache.
struct PrefillArm {
  std::string weights;
  Timing timing;          // of a pass that fills the cache
  Ratio against_forward;  // over the same pass without a cache
};

struct DecodeResult {
  train::Machine machine;
  std::string compute_dtype;  // of activations with int8 weights
  std::string scheme;
  std::int64_t parameters = 0;
  std::int64_t prompt = 0;
  double copy_rate = 0;  // bytes read and written per second
  int repeated = 0;
  std::optional<double> contention;
  std::vector<DecodeArm> decode;
  std::vector<PrefillArm> prefill;
};

/// Times decoding and prefill of a model with its initial weights, in interleaved rounds.
/// \throws Error (usage, exit code 64) for an invalid configuration, or if prompt and steps do not
///         fit into model.context; (busy, 75) if the models do not fit into memory
DecodeResult time_decoding(const config::Sources& sources, const DecodeRequest& request);

}  // namespace evenkeel::bench
