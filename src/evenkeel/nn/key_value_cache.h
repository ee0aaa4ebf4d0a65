// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace evenkeel::nn {

/// The key-value cache of one block, for decoding token by token.
struct KeyValueCache {
  at::Tensor keys;            // [B, kv, capacity, dk], compute dtype; normalized and rotated
  at::Tensor values;          // [B, kv, capacity, dk], compute dtype
  std::int64_t length = 0;    // positions filled
  at::Tensor document_start;  // [B], int32: start of the document that the next token continues;
                              // undefined: 0; set in the cache of the first block only
};

/// The caches of a model: one per block.
using ModelCache = std::vector<KeyValueCache>;

}  // namespace evenkeel::nn
