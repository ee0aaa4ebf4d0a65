// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// A scheme as a list: place by place what stands there, in words. Two schemes are compared by it.
namespace evenkeel::norm {

struct Setting {
  std::string place, words;  // "attention.q"; "-" where there is nothing
  bool at_start = false;     // only where training starts: base_init, init, ...
};
using Settings = std::vector<Setting>;

/// In the order of the forward pass: before the blocks, of a block, behind them. The places are the
/// same ones in the same order for every scheme and block.
Settings settings_before(const Scheme& scheme);
Settings settings_of(const Block& block);
Settings settings_behind(const Scheme& scheme);

}  // namespace evenkeel::norm
