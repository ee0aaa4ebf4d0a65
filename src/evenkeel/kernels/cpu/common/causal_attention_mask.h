// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

/// The mask of causal attention within documents; for the files of causal_attention() only. Key j
/// is visible to query i of a head if document_starts[i] <= j <= i + past_length.
namespace evenkeel::kernels::cpu {

struct Range {
  std::int64_t begin = 0, end = 0;
  bool is_empty() const { return begin >= end; }
};

/// The keys of [k0, k0 + count) that are visible to query i, counted from k0.
/// \param document_starts  null: one document
inline Range visible_keys(const std::int32_t* document_starts, std::int64_t i,
                          std::int64_t past_length, std::int64_t k0, std::int64_t count) {
  const std::int64_t begin = document_starts == nullptr ? 0 : document_starts[i];
  return {std::clamp<std::int64_t>(begin - k0, 0, count),
          std::clamp<std::int64_t>(past_length + i + 1 - k0, 0, count)};
}

/// The first visible key of query i, rounded down to a block of `size` keys. Keys of earlier blocks
/// are masked for query i and all later queries.
inline std::int64_t first_key_block(const std::int32_t* document_starts, std::int64_t i,
                                    std::int64_t size) {
  return document_starts == nullptr ? 0 : document_starts[i] / size * size;
}

/// The queries of [q0, q0 + count) to which key j is visible, counted from q0.
inline Range visible_queries(const std::int32_t* document_starts, std::int64_t j,
                             std::int64_t past_length, std::int64_t q0, std::int64_t count) {
  const auto first = std::clamp<std::int64_t>(j - past_length - q0, 0, count);
  if (document_starts == nullptr) return {first, count};
  const auto* const from = document_starts + q0;
  return {first, std::upper_bound(from, from + count, j) - from};
}

}  // namespace evenkeel::kernels::cpu
