// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// A scheme as a list of places and descriptions. scheme_difference.h and scheme_relation.h compare
/// two schemes entry by entry.
namespace evenkeel::norm {

/// One place and its value.
struct SchemeEntry {
  std::string place, value;  // place: "attention.q"; value "-": no entry
  bool at_start = false;     // the entry sets initial values only (base_init, init, ...)
};
using SchemeEntries = std::vector<SchemeEntry>;

/// The entries before the blocks, of one block, and after the blocks, in the order of the forward
/// pass. All schemes have the same places in the same order.
SchemeEntries entries_before_blocks(const Scheme& scheme);
SchemeEntries block_entries(const Block& block);
SchemeEntries entries_after_blocks(const Scheme& scheme);

}  // namespace evenkeel::norm
