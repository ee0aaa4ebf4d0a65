// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"

namespace evenkeel::plan {

/// Sequences that go through the model at once: train.micro_batch. "auto" is the largest number
/// with at most 8,192 tokens and 1 GiB of float32 logits; at least one, at most train.batch.
/// \param vocabulary  the model's: tokens with a logit
std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary);

/// The number of sequences in an evaluation: micro_batch_size(), at most the one of "auto".
std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary);

}  // namespace evenkeel::plan
