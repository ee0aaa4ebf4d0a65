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
  std::string own_name;  // what its own tensors begin with: "attention.q", but of an expert
                         // "feed_forward.experts.7.up"
};

/// Those of block i, from 0, in the order of kWeights: of each stored matrix from the first row to
/// the last. The rows of stacked experts are counted through, from expert to expert; a router is
/// no matrix with a name of its own.
std::vector<LogicalMatrix> logical_matrices(const Shape& shape, std::int64_t i);

}  // namespace evenkeel::norm
