// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/batch_size.h"

#include <algorithm>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/model_parameters.h"

namespace evenkeel::plan {

namespace {

std::int64_t auto_micro_batch_size(const config::Config& config, std::int64_t vocabulary) {
  const auto device = ops::compute_device();
  if (device.is_cuda()) {
    const auto memory = static_cast<double>(ops::gpu_info(device.index()).total_bytes);
    return gpu_micro_batch_size(config, vocabulary, memory);
  }
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

std::int64_t gpu_micro_batch_size(const config::Config& config, std::int64_t vocabulary,
                                  double memory) {
  constexpr std::int64_t kTokens = 65536;
  constexpr double kShare = 0.75;  // of the memory; the rest is for what is not predicted
  const auto scheme = config::bind(config.scheme, config::shape_of(config, vocabulary));
  const auto rows = padded_vocabulary_size(config.model, vocabulary);
  const auto counts = nn::parameter_counts(parameter_specs_of(config.model, scheme));
  const auto& named = config.train.precision;
  const auto precision = named == "float32"   ? nn::Precision::float32
                         : named == "float64" ? nn::Precision::float64
                                              : nn::Precision::bfloat16;
  auto candidate = config;
  auto& sequences = candidate.train.micro_batch;
  sequences = std::clamp<std::int64_t>(kTokens / config.model.context, 1, shard_size(config));
  while (sequences > 1 &&
         footprint_of(candidate, scheme, rows, counts, precision).total() > kShare * memory) {
    sequences /= 2;
  }
  return sequences;
}

std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary) {
  return std::min(micro_batch_size(config, vocabulary), auto_micro_batch_size(config, vocabulary));
}

}  // namespace evenkeel::plan
