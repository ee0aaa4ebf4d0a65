// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "evenkeel/kernels/cpu/common/causal_attention_mask.h"
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// What an AttentionPart reads; for the files of causal_attention_backward() only.
namespace evenkeel::kernels::cpu {

/// The queries that a part needs: those of its dq, or those that see a key of its dk and dv.
/// \param size  of a block of queries
inline Range queries_of(const AttentionSizes& sizes, const AttentionPart& part, std::int64_t size) {
  if (!part.has_dk_dv()) return {part.query_begin, part.query_end};
  const auto first = std::max<std::int64_t>(0, part.key_begin - (sizes.keys - sizes.queries));
  return {first / size * size, sizes.queries};
}

/// The keys that a part needs: those of its dk and dv, or those that a query of its dq sees.
/// \param size  of a block of keys
inline Range keys_of(const AttentionSizes& sizes, const AttentionPart& part, std::int64_t size) {
  if (!part.has_dq()) return {part.key_begin, part.key_end};
  const auto visible = sizes.keys - sizes.queries + part.query_end;
  return {0, std::min(sizes.keys, (visible + size - 1) / size * size)};
}

}  // namespace evenkeel::kernels::cpu
