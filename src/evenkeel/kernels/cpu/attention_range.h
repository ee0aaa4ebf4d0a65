// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

/// Who sees whom in causal attention within documents; for the files of attention() only. Query i
/// of a head sees key j if document_starts[i] <= j <= i + earlier.
namespace evenkeel::kernels::cpu {

struct Range {
  std::int64_t begin = 0, end = 0;
  bool is_empty() const { return begin >= end; }
};

/// The keys of [k0, k0 + count) that query i sees, counted from k0.
/// \param document_starts  null: documents do not end
inline Range keys_of(const std::int32_t* document_starts, std::int64_t i, std::int64_t earlier,
                     std::int64_t k0, std::int64_t count) {
  const std::int64_t begin = document_starts == nullptr ? 0 : document_starts[i];
  return {std::clamp<std::int64_t>(begin - k0, 0, count),
          std::clamp<std::int64_t>(earlier + i + 1 - k0, 0, count)};
}

/// The queries of [q0, q0 + count) that see key j, counted from q0.
inline Range queries_of(const std::int32_t* document_starts, std::int64_t j, std::int64_t earlier,
                        std::int64_t q0, std::int64_t count) {
  const auto first = std::clamp<std::int64_t>(j - earlier - q0, 0, count);
  if (document_starts == nullptr) return {first, count};
  const auto* const from = document_starts + q0;
  return {first, std::upper_bound(from, from + count, j) - from};
}

}  // namespace evenkeel::kernels::cpu
