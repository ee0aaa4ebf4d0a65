// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/nn/key_value_cache.h"
#include "evenkeel/nn/mode.h"

namespace evenkeel::nn {

struct Observer;
struct RouterLosses;

/// The options of one forward pass. The default is an evaluation of whole sequences.
struct Pass {
  Mode mode = Mode::evaluation;
  /// If given, the tokens continue the positions in it, and their keys and values are appended.
  ModelCache* cache = nullptr;
  const Observer* observer = nullptr;  // may be null
  /// If given, it gets the means of the auxiliary losses over all routers; unchanged in a model
  /// without routers.
  RouterLosses* router = nullptr;
  std::int64_t skipped_block = 0;  // block, from 1, that is the identity; 0: none
};

}  // namespace evenkeel::nn
