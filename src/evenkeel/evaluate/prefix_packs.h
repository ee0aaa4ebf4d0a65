// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evenkeel/nn/packing.h"
#include "evenkeel/tasks/token_rows.h"

namespace evenkeel::evaluate {

/// Rows of tasks that go through the model together.
struct PrefixPack {
  nn::Packing packing;
  std::vector<std::int64_t> ids;  // of the tokens of all segments
  /// A row and where the inputs are that its targets follow.
  struct PackedRow {
    std::size_t row = 0;                      // index in the list of rows
    std::vector<std::int64_t> before_target;  // index in `ids`, one a target
  };
  std::vector<PackedRow> rows;
};

/// How rows are packed.
struct PackOptions {
  std::int64_t tokens = 1024;   // largest size of a pack; at least that of the longest row
  bool shares_prefixes = true;  // false: each row is a sequence of its own
};

/// Packs rows in the order of their tokens, so that rows with a common beginning are neighbours.
/// The beginning that a row shares with the row before it in a pack is stored once.
std::vector<PrefixPack> prefix_packs(const std::vector<tasks::TokenRow>& rows,
                                     const PackOptions& options);

}  // namespace evenkeel::evaluate
