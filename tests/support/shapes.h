// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/scheme.h"

namespace evenkeel::testing {

/// The model of the golden numbers: width 16, 4 heads of 4, 2 key heads, 31 tokens.
inline norm::Shape tiny_shape(std::int64_t layers) {
  return {.layers = layers,
          .width = 16,
          .heads = 4,
          .kv_heads = 2,
          .inner = 24,
          .vocabulary = 31,
          .context = 16};
}

/// Small enough to count its numbers by hand: 2 blocks of width 8 with 2 heads of 4 and 1 key
/// head, 10 tokens.
inline norm::Shape countable_shape() {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .kv_heads = 1,
          .inner = 12,
          .vocabulary = 10,
          .context = 4};
}

}  // namespace evenkeel::testing
