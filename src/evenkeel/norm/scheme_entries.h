// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// A scheme as a list of entries: the value of each place, as text. scheme_difference.h and
/// scheme_relation.h compare schemes by it.
namespace evenkeel::norm {

/// One place and its value.
struct SchemeEntry {
  std::string place, value;  // "attention.q"; "-" where there is nothing
  bool at_start = false;     // only where training starts: base_init, init, ...
};
using SchemeEntries = std::vector<SchemeEntry>;

/// The entries before the blocks, of a block, and after the blocks, in the order of the forward
/// pass. Every scheme and block has the same places in the same order.
SchemeEntries entries_before_blocks(const Scheme& scheme);
SchemeEntries block_entries(const Block& block);
SchemeEntries entries_after_blocks(const Scheme& scheme);

}  // namespace evenkeel::norm
