// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "evenkeel/memory/size_class.h"
#include "evenkeel/nn/footprint_block.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/linear/linear_cross_entropy_chunk.h"

namespace evenkeel::nn {

namespace {

constexpr double kProgram = 200e6;  // libraries, and the built-in corpus (150 to 220 were measured)

/// Bytes of activations.
struct SavedBytes {
  double saved = 0;      // for the backward pass
  double temporary = 0;  // allocated and freed
};

/// Bytes of the materialized scores of one block, S values for each query and head; 0 where the
/// operator has none.
SavedBytes score_bytes(const norm::Block& block, const norm::Shape& shape, double tokens,
                       const FootprintOptions& options) {
  const auto& softcap = block.attention.softcap;
  if (!options.explicit_attention && !(options.flash_attention && softcap)) return {};
  const double values =
      tokens * static_cast<double>(shape.context) * static_cast<double>(shape.heads);
  const double wide = wide_bytes(options);
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double weights = wide + (bytes < wide ? bytes : 0);  // and a copy in bfloat16
  return {.saved = values * (weights + (softcap ? wide : 0)), .temporary = 3 * values * wide};
}

/// The bytes that the allocator reserves for a tensor of `bytes` bytes.
double allocated_bytes(double bytes) {
  const auto asked = static_cast<std::size_t>(bytes);
  return asked == 0 ? 0 : static_cast<double>(memory::class_bytes(memory::size_class(asked)));
}

/// Bytes that all blocks save for the backward pass; Footprint::temporary: scores of one block.
SavedBytes block_bytes(const norm::Scheme& scheme, double tokens, const FootprintOptions& options) {
  const auto bytes = static_cast<double>(options.compute_bytes);
  double all = 0, largest = 0, streams = 0;  // streams: the inputs of the checkpointed blocks
  SavedBytes out;
  std::int64_t i = 0;
  for (const auto& block : scheme.blocks) {
    const auto saved = saved_by_block(scheme, i++, options);
    const auto scores = score_bytes(block, scheme.shape, tokens, options);
    const double inside =
        tokens * (saved.values * bytes + saved.bytes) + saved.weights * bytes + scores.saved;
    out.temporary = std::max(out.temporary, scores.temporary);
    all += inside;
    largest = std::max(largest, inside);
    streams += static_cast<double>(output_tensors(scheme, block));
  }
  const auto d = static_cast<double>(scheme.shape.width);
  out.saved = options.recompute == Recompute::block ? tokens * streams * d * bytes + largest : all;
  return out;
}

/// Float32 copies of the operands and the result of the head's products.
double widened_bytes(const norm::Shape& shape, double tokens, const FootprintOptions& options) {
  if (!options.widened_products) return 0;
  const auto d = static_cast<double>(shape.width);
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  return 4 * (vocabulary * d + tokens * (vocabulary + d));
}

/// Bytes of the logits. A formula has those of all tokens, their logarithmic softmax, and gradients
/// of both; a learned scale saves its input, a soft cap its tanh, and the z-loss the logits.
double logits_bytes(const norm::Scheme& scheme, double tokens, double chunk,
                    const FootprintOptions& options) {
  const auto vocabulary = static_cast<double>(scheme.shape.vocabulary);
  const auto bytes = static_cast<double>(options.compute_bytes);
  if (options.fused) return allocated_bytes(std::min(tokens, chunk) * vocabulary * bytes);
  const bool is_scaled = std::holds_alternative<norm::Learned>(scheme.logits_scale);
  const int tensors =
      3 + (is_scaled ? 1 : 0) + (scheme.logits_softcap ? 1 : 0) + (options.z_loss ? 1 : 0);
  return tensors * allocated_bytes(tokens * vocabulary * wide_bytes(options));
}

/// Bytes of the head's gradient apart from its ops::GradientBuffer. The first micro-batch writes
/// into the buffer, unless the logits have a learned scale.
double head_gradient_bytes(const norm::Scheme& scheme, std::int64_t padded_vocabulary,
                           const FootprintOptions& options) {
  const double values =
      static_cast<double>(padded_vocabulary) * static_cast<double>(scheme.shape.width);
  const double wide = wide_bytes(options);
  const bool is_scaled = std::holds_alternative<norm::Learned>(scheme.logits_scale);
  double out = is_scaled || options.accumulation_steps > 1 ? values * wide : 0;
  // The scaled weight, the gradient times that of the loss, and the gradient of the weight.
  if (is_scaled && options.fused) {
    out += values * (2 * static_cast<double>(options.compute_bytes) + wide);
  }
  return out;
}

/// Memory that is allocated and freed in every step, without scores. Not all of it is in use at one
/// time, but the allocator keeps a piece of each size for the next step.
double temporary_bytes(const norm::Scheme& scheme, std::int64_t padded_vocabulary, double tokens,
                       const FootprintOptions& options) {
  const auto& shape = scheme.shape;
  const auto bytes = static_cast<double>(options.compute_bytes);
  const auto d = static_cast<double>(shape.width);
  const auto inner = static_cast<double>(shape.inner);
  const auto chunk = static_cast<double>(ops::loss_chunk_tokens(
      shape.vocabulary, options.compute_bytes, ops::compute_device().is_cuda()));
  const auto rows_per_token =
      static_cast<double>(shape.is_mixture() ? shape.experts.per_token() : 1);
  const double in_a_block =
      tokens * (rows_per_token * 4 * inner + (rows_per_token + 2) * d) * bytes;
  return logits_bytes(scheme, tokens, chunk, options) +
         head_gradient_bytes(scheme, padded_vocabulary, options) + in_a_block +
         widened_bytes(shape, std::min(tokens, chunk), options);
}

}  // namespace

Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary,
                    const ParameterCounts& counts, const FootprintOptions& options) {
  const auto bytes = static_cast<double>(options.compute_bytes);
  const double wide = wide_bytes(options);  // masters, moments, logits
  const auto parameters = static_cast<double>(counts.total);
  const auto gains = static_cast<double>(counts.norms);
  const auto tokens = static_cast<double>(options.micro_batch_size * scheme.shape.context);
  const auto d = static_cast<double>(scheme.shape.width);

  Footprint out;
  const bool copies = options.compute_bytes < 4;
  out.weights = parameters * wide + (copies ? (parameters - gains) * bytes : 0);
  const auto shards =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.gradient_shards));
  out.gradients = parameters * wide * static_cast<double>(std::bit_width(shards));
  out.moments = 2 * parameters * wide;

  const auto blocks = block_bytes(scheme, tokens, options);
  out.activations = tokens * 3 * d * bytes;  // embedding, final stream and its norm
  out.activations += blocks.saved;
  out.temporary = temporary_bytes(scheme, padded_vocabulary, tokens, options) + blocks.temporary;
  out.program = kProgram;
  return out;
}

Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const FootprintOptions& options) {
  const auto counts = parameter_counts(parameter_specs(scheme, padded_vocabulary, tied));
  return footprint(scheme, padded_vocabulary, counts, options);
}

}  // namespace evenkeel::nn
