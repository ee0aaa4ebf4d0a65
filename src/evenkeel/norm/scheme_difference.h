// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A difference between two schemes at one place.
struct SchemeDifference {
  std::int64_t first = 0, last = 0;  // blocks, from 1; 0: outside the blocks
  std::string place;                 // "attention.q", "final", "init of attention.v"
  std::string left, right;           // described as in describe(); "-": no entry
  bool at_start = false;  // the difference changes initial values only (base_init, init, ...)
};

/// All differences between the canonical() forms of two schemes of one shape, in the order of the
/// forward pass; differences of initial values come last. Consecutive blocks with equal differences
/// share one entry. Expressions with the same value are equal.
std::vector<SchemeDifference> differences(const Scheme& left, const Scheme& right);

}  // namespace evenkeel::norm
