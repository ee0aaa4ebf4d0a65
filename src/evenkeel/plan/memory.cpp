// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/memory.h"

#include <c10/core/ScalarType.h>

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
                           std::int64_t padded_vocabulary, nn::Precision precision) {
  const auto sequences = micro_batch_size(config, scheme.shape.vocabulary);
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(nn::compute_dtype(precision)));
  const auto& attention = config.kernels.attention;
  auto out =
      nn::footprint(scheme, padded_vocabulary, config.model.tied,
                    {.micro_batch_size = sequences,
                     .accumulation_steps = (shard_size(config) + sequences - 1) / sequences,
                     .gradient_shards = config.train.gradient_shards,
                     .compute_bytes = bytes,
                     .fused = config.kernels.fused,
                     .explicit_attention = attention == "explicit" ||
                                           (attention == "auto" && !config.kernels.fused) ||
                                           (attention == "flash" && config.data.mask_documents),
                     .flash_attention = attention == "flash",
                     .recompute = recompute_of(config)});
  // Master weights and two moments. A GPU's are copied into the memory of its host.
  constexpr double kCopied = 3.0 / 2;
  if (config.checkpoint.background && ops::compute_device().is_cpu())
    out.checkpoint = kCopied * out.moments;
  return out;
}

}  // namespace evenkeel::plan
