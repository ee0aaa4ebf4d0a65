// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// A scheme as a list of entries: for each place its value, as text. Two schemes are compared by
/// it.
namespace evenkeel::norm {

struct SchemeEntry {
  std::string place, value;  // "attention.q"; "-" where there is nothing
  bool at_start = false;     // only where training starts: base_init, init, ...
};
using SchemeEntries = std::vector<SchemeEntry>;

/// In the order of the forward pass: before the blocks, of a block, after them. The places are the
/// same ones in the same order for every scheme and block.
SchemeEntries entries_before_blocks(const Scheme& scheme);
SchemeEntries block_entries(const Block& block);
SchemeEntries entries_after_blocks(const Scheme& scheme);

}  // namespace evenkeel::norm
