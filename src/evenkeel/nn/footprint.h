// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/mode.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/scheme.h"

/// The peak memory of training, computed from sizes alone, without torch.
namespace evenkeel::nn {

/// Bytes by purpose, at the end of a forward pass in training.
struct Footprint {
  double weights = 0;      // master weights; with bfloat16 also the bfloat16 copies
  double gradients = 0;    // one value per parameter, and the partial sums of the tree over shards
  double moments = 0;      // AdamW: two values per parameter
  double activations = 0;  // tensors that are saved for the backward pass, computed matrices too
  double temporary = 0;    // logits of a chunk, gradient of the head, gradients inside a block
  double checkpoint = 0;   // the copy from which a thread writes a checkpoint
  double program = 0;      // code and libraries
  double total() const {
    return weights + gradients + moments + activations + temporary + checkpoint + program;
  }
};

/// Options of a run that affect its memory.
struct FootprintOptions {
  std::int64_t micro_batch_size = 1;    // sequences per forward pass
  std::int64_t accumulation_steps = 1;  // micro-batches per gradient shard
  std::int64_t gradient_shards = 1;     // whose gradients are summed in a binary tree
  std::int64_t compute_bytes = 4;       // bytes per value: 2 (bfloat16), 4 or 8
  bool fused = true;                    // kernels.fused; false: unfused operators save more tensors
  bool explicit_attention = false;      // scores are materialized
  bool flash_attention = false;         // LibTorch; with a soft cap, scores are materialized
  bool z_loss = false;                  // of the logits: train.z_loss > 0
  bool widened_products = false;        // of float32 copies: ops/linear/widened_product.h
  Recompute recompute = Recompute::none;
};

/// The memory of a training run on one device.
/// \param padded_vocabulary  rows of the embedding and of an untied head
/// \param counts  parameter_counts() of the model, which callers in a loop compute once
Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary,
                    const ParameterCounts& counts, const FootprintOptions& options);

/// footprint() with the counts of the model's parameter_specs().
/// \param tied  the head is the embedding
Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const FootprintOptions& options);

}  // namespace evenkeel::nn
