// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/prefix_packs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::evaluate {

namespace {

using Tokens = std::vector<std::int64_t>;

/// The number of tokens at the beginning that two rows have in common.
std::int64_t common_prefix(const Tokens& a, const Tokens& b) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
}

/// A pack to which rows are added.
class PackBuilder {
 public:
  PackBuilder(const std::vector<tasks::TokenRow>& rows, const PackOptions& options)
      : rows_(rows), options_(options) {}

  /// Adds a row unless its new tokens do not fit.
  bool add(std::size_t row) {
    const auto& inputs = rows_[row].inputs;
    const auto size = static_cast<std::int64_t>(inputs.size());
    EK_ASSERT(size > 0 && size <= options_.tokens);
    const auto shared = options_.shares_prefixes && !pack_.rows.empty()
                            ? common_prefix(rows_[pack_.rows.back().row].inputs, inputs)
                            : 0;
    const auto first = static_cast<std::int64_t>(pack_.ids.size());
    if (first + size - shared > options_.tokens) return false;
    while (!path_.empty() && segment(path_.back()).position >= shared) path_.pop_back();
    place_.resize(static_cast<std::size_t>(shared));
    if (shared < size) add_segment(inputs, first, shared);
    const auto targets = static_cast<std::ptrdiff_t>(rows_[row].targets.size());
    pack_.rows.push_back({row, {place_.end() - targets, place_.end()}});
    return true;
  }

  /// The pack, which is then empty.
  PrefixPack take() {
    path_.clear();
    place_.clear();
    return std::exchange(pack_, {});
  }

 private:
  nn::PackedSegment& segment(std::size_t index) { return pack_.packing.segments[index]; }

  /// The tokens of a row from position `shared` on, which are placed at index `first`.
  void add_segment(const Tokens& inputs, std::int64_t first, std::int64_t shared) {
    const auto size = static_cast<std::int64_t>(inputs.size());
    nn::PackedSegment added{first, size - shared, shared, std::nullopt};
    if (!path_.empty()) added.parent = path_.back();
    path_.push_back(pack_.packing.segments.size());
    pack_.packing.segments.push_back(added);
    pack_.ids.insert(pack_.ids.end(), inputs.begin() + shared, inputs.end());
    for (std::int64_t i = 0; i < added.count; ++i) place_.push_back(first + i);
  }

  const std::vector<tasks::TokenRow>& rows_;
  const PackOptions& options_;
  PrefixPack pack_;
  std::vector<std::size_t> path_;  // segments of the last row, root first
  Tokens place_;                   // of each input of the last row: its index in the pack
};

}  // namespace

std::vector<PrefixPack> prefix_packs(const std::vector<tasks::TokenRow>& rows,
                                     const PackOptions& options) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].inputs < rows[b].inputs; });
  std::vector<PrefixPack> packs;
  PackBuilder builder(rows, options);
  for (const auto row : order) {
    if (builder.add(row)) continue;
    packs.push_back(builder.take());
    EK_ASSERT(builder.add(row));
  }
  if (!rows.empty()) packs.push_back(builder.take());
  return packs;
}

}  // namespace evenkeel::evaluate
