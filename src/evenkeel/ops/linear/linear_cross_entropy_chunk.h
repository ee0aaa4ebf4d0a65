// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace evenkeel::ops {

/// The number of tokens in a chunk of linear_cross_entropy(): 128 MiB of logits, but at least 256
/// tokens, since smaller products are slow, and at most 4,096. On a GPU 4 GiB and 32,768 tokens:
/// every chunk reads and writes the whole gradient of the weight.
/// \param vocabulary  logits per token
/// \param bytes       bytes per logit
constexpr std::int64_t loss_chunk_tokens(std::int64_t vocabulary, std::int64_t bytes, bool is_gpu) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 27, kLeast = 256, kMost = 4096, kStep = 64;
  constexpr std::int64_t kGpuBytes = std::int64_t{1} << 32, kGpuMost = 32768;
  const auto row = std::max<std::int64_t>(vocabulary, 1) * bytes;
  return std::clamp((is_gpu ? kGpuBytes : kBytes) / row / kStep * kStep, kLeast,
                    is_gpu ? kGpuMost : kMost);
}

}  // namespace evenkeel::ops
