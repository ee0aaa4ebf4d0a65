// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace evenkeel::ops {

/// Tokens whose logits linear_cross_entropy() holds at a time: 32 Mi logits, but at least 256
/// tokens, or the products would be slow.
constexpr std::int64_t head_chunk_tokens(std::int64_t vocabulary) {
  constexpr std::int64_t kLogits = std::int64_t{1} << 25, kLeast = 256, kMost = 4096, kStep = 64;
  return std::clamp(kLogits / std::max<std::int64_t>(vocabulary, 1) / kStep * kStep, kLeast, kMost);
}

}  // namespace evenkeel::ops
