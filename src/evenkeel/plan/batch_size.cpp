// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/batch_size.h"

#include <algorithm>

namespace evenkeel::plan {

namespace {

std::int64_t auto_micro_batch_size(const config::Config& config, std::int64_t vocabulary) {
  constexpr std::int64_t kTokens = 8192;
  constexpr std::int64_t kLogits = (std::int64_t{1} << 30) / 4;  // float32 values in 1 GiB
  const auto context = config.model.context;
  const auto tokens = std::min(kTokens, kLogits / std::max<std::int64_t>(1, vocabulary));
  return std::clamp<std::int64_t>(tokens / context, 1, shard_size(config));
}

}  // namespace

std::int64_t shard_size(const config::Config& config) {
  return config.train.batch / std::max<std::int64_t>(1, config.train.gradient_shards);
}

std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary) {
  const auto configured = config.train.micro_batch;
  return configured > 0 ? std::min(configured, shard_size(config))
                        : auto_micro_batch_size(config, vocabulary);
}

std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary) {
  return std::min(micro_batch_size(config, vocabulary), auto_micro_batch_size(config, vocabulary));
}

}  // namespace evenkeel::plan
