// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"

/// The memory that training needs, computed from sizes alone. Knows no torch.
namespace evenkeel::nn {

/// Bytes, by what holds them while a batch is halfway through.
struct Footprint {
  double weights = 0;  // masters, and bfloat16 copies where the arithmetic is bfloat16
  double gradients = 0;
  double moments = 0;      // two for every parameter
  double activations = 0;  // what the forward pass saves for the backward pass
  double temporary = 0;    // logits of a chunk, gradients of the head and inside a block
  double program = 0;      // code and libraries
  double total() const { return weights + gradients + moments + activations + temporary + program; }
};

struct FootprintOptions {
  std::int64_t micro_batch_size = 1;    // sequences that go through the model at once
  std::int64_t accumulation_steps = 1;  // micro-batches of an optimizer step
  std::int64_t compute_bytes = 4;       // of one value: 2 for bfloat16, 4, or 8
  bool fused = true;                    // kernels.fused; formulas save the gate's output, too
  bool explicit_attention = false;
  bool flash_attention = false;  // LibTorch's: under a soft cap scores are materialized
  Recompute recompute = Recompute::none;
};

/// \param padded_vocabulary  rows of the embedding and of an untied head
Footprint footprint(const norm::Scheme& scheme, std::int64_t padded_vocabulary, bool tied,
                    const FootprintOptions& options);

}  // namespace evenkeel::nn
