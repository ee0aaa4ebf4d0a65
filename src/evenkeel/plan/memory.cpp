// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/memory.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/plan/batch_size.h"

namespace evenkeel::plan {

nn::Recompute recompute_of(const config::Config& config) {
  const auto& mode = config.model.recompute;
  return mode == "block"   ? nn::Recompute::block
         : mode == "norms" ? nn::Recompute::norms
                           : nn::Recompute::none;
}

nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, const nn::ParameterCounts& counts,
                           nn::Precision precision, bool widened_products) {
  const auto sequences = micro_batch_size(config, scheme.shape.vocabulary);
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(nn::compute_dtype(precision)));
  const auto& attention = config.kernels.attention;
  auto out =
      nn::footprint(scheme, padded_vocabulary, counts,
                    {.micro_batch_size = sequences,
                     .accumulation_steps = (shard_size(config) + sequences - 1) / sequences,
                     .gradient_shards = config.train.gradient_shards,
                     .compute_bytes = bytes,
                     .fused = config.kernels.fused,
                     .explicit_attention = attention == "explicit" ||
                                           (attention == "auto" && !config.kernels.fused) ||
                                           (attention == "flash" && config.data.mask_documents),
                     .flash_attention = attention == "flash",
                     .z_loss = config.train.z_loss > 0,
                     .widened_products = widened_products,
                     .recompute = recompute_of(config)});
  // Master weights and two moments. A GPU's are copied into the memory of its host.
  constexpr double kCopied = 3.0 / 2;
  if (config.checkpoint.background && ops::compute_device().is_cpu())
    out.checkpoint = kCopied * out.moments;
  return out;
}

nn::Footprint footprint_of_rank(const nn::Footprint& whole, const config::Config& config,
                                nn::Precision precision, std::int64_t parameters,
                                std::int64_t ranks, bool keeps_masters) {
  const auto configured = std::max<std::int64_t>(1, config.train.gradient_shards);
  const auto shards = std::max(configured, ranks);
  const auto sums = [](std::int64_t count) {  // of the tree over shards
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(count)));
  };
  auto out = whole;
  const double buffer = whole.gradients / sums(configured), own = sums(shards / ranks);
  const auto divisor = static_cast<double>(ranks);
  // The gradient of a shard, and the partial sums: with "gradients" only of this rank's piece.
  out.gradients =
      buffer * (config.distributed.shard == "gradients" ? 1 + (own - 1) / divisor : own);
  if (config.distributed.shard == "none") return out;
  const auto wide = static_cast<double>(c10::elementSize(nn::master_dtype(precision)));
  const bool has_copies = nn::compute_dtype(precision) != nn::master_dtype(precision);
  const bool gives_up = has_copies && !keeps_masters;
  const double masters = gives_up ? wide * static_cast<double>(parameters) : 0;
  out.weights -= masters * (1 - 1 / divisor);
  out.moments /= divisor;
  out.checkpoint /= divisor;
  return out;
}

PlannedMemory planned_memory(const config::Config& config, const Plan& plan,
                             std::int64_t padded_vocabulary, const Machine& machine) {
  const auto memory_with = [&](const std::string& recompute) {
    auto tried = config;
    tried.model.recompute = recompute;
    tried.train.micro_batch = plan.micro_batch_size;  // of a GPU, it would depend on the mode
    const auto whole = footprint_of(tried, plan.scheme, padded_vocabulary, plan.counts,
                                    machine.precision, machine.widened_products);
    return machine.ranks == 1
               ? whole
               : footprint_of_rank(whole, tried, machine.precision, plan.counts.total,
                                   machine.ranks, /*keeps_masters=*/machine.device.is_cuda());
  };
  if (config.model.recompute != "auto") {
    return {config.model.recompute, memory_with(config.model.recompute)};
  }
  PlannedMemory least{"none", memory_with("none")};
  std::vector<std::string> others = {"norms"};
  const bool has_moved_state = std::ranges::any_of(plan.parameters, [](const auto& each) {
    return each.role == nn::ParameterRole::state && nn::is_moved_in_forward(each.name);
  });
  if (!has_moved_state) others.emplace_back("block");
  const auto fits = [&](const nn::Footprint& memory) {
    return machine.free_memory == 0 || memory.total() <= kFitShare * machine.free_memory;
  };
  for (const auto& other : others) {
    if (fits(least.memory)) break;
    const auto memory = memory_with(other);
    if (memory.total() < least.memory.total()) least = {other, memory};
  }
  return least;
}

config::Config with_recompute(config::Config config, const Plan& plan) {
  if (config.model.recompute != "auto") return config;
  config.model.recompute = plan.recompute;
  config.train.micro_batch = plan.micro_batch_size;
  return config;
}

}  // namespace evenkeel::plan
