// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/key_value_cache.h"
#include "evenkeel/nn/mode.h"

namespace evenkeel::nn {

struct Observer;
struct Packing;
struct RouterLosses;
struct ZLoss;

/// The options of one forward pass. The default is an evaluation of whole sequences.
struct Pass {
  Mode mode = Mode::evaluation;
  /// Not null: the tokens have the next positions; their keys and values are appended to the cache.
  ModelCache* cache = nullptr;
  /// Not null: the tokens are one row [1, T] of packed sequences. Without a cache and a gradient.
  const Packing* packing = nullptr;
  const Observer* observer = nullptr;  // may be null
  /// Output: mean auxiliary losses over all routers; unchanged in a model without routers. May be
  /// null.
  RouterLosses* router = nullptr;
  /// Not null: loss_sum() includes this z-loss of the logits, and writes its parts.
  ZLoss* z_loss = nullptr;
  std::int64_t skipped_block =
      0;  // index, from 1, of a block that is replaced by the identity; 0: none
  /// No activation checkpointing, whatever Recompute says: for gradients of residual streams, which
  /// must not run the backward pass of a whole block.
  bool keeps_graph = false;
};

}  // namespace evenkeel::nn
