// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// Rows of a stored matrix of a block that have a name of their own: what init factors,
/// reparameterizations and hooks speak of.
struct LogicalMatrix {
  std::string name;    // "attention.q"
  std::string stored;  // "attention.qkv"
  std::int64_t first = 0, rows = 0, columns = 0;
};

/// Those of kWeights, in its order: of each stored matrix from the first row to the last.
std::vector<LogicalMatrix> logical_matrices(const Shape& shape);

}  // namespace evenkeel::norm
