// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// One place where two schemes differ.
struct SchemeDifference {
  std::int64_t first = 0, last = 0;  // blocks, from 1; 0 outside the blocks
  std::string place;                 // "attention.q", "final", "init of attention.v"
  std::string left, right;           // in words; "-" where there is nothing
  bool at_start = false;             // only where training starts: base_init, init, ...
};

/// All differences of two schemes of one shape in their canonical() form, in the order of the
/// forward pass. Neighbouring blocks with equal differences form one entry. Differences of initial
/// values come last. Formulas with the same value are equal.
std::vector<SchemeDifference> differences(const Scheme& left, const Scheme& right);

}  // namespace evenkeel::norm
