// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"

namespace evenkeel::plan {

/// Sequences of one gradient shard: train.batch / train.gradient_shards.
std::int64_t shard_size(const config::Config& config);

/// Sequences per forward pass: train.micro_batch. "auto" is the largest number with at most 8,192
/// tokens and 1 GiB of float32 logits; at least 1. On a GPU, at most 65,536 tokens, halved until
/// the step takes three quarters of its memory. At most shard_size().
/// \param vocabulary  tokens with a logit
std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary);

/// micro_batch_size() of "auto" on a GPU.
/// \param memory  of the GPU, bytes
std::int64_t gpu_micro_batch_size(const config::Config& config, std::int64_t vocabulary,
                                  double memory);

/// Sequences per forward pass of an evaluation: micro_batch_size(), but at most that of "auto".
std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary);

}  // namespace evenkeel::plan
