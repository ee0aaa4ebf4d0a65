// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// Consecutive rows of a stored matrix that are one matrix of the model, as attention.q in
/// attention.qkv. Init factors, reparameterizations and hooks name logical matrices.
struct LogicalMatrix {
  std::string name;                               // "attention.q"
  std::string stored;                             // "attention.qkv"
  std::int64_t first = 0, rows = 0, columns = 0;  // rows [first, first + rows) of `stored`
  std::string own_name;  // the prefix of its own tensors: "attention.q", of an expert
                         // "feed_forward.experts.7.up"
};

/// The logical matrices of block i, from 0, in the order of kWeights, and within a stored matrix by
/// first row. Row numbers of stacked experts continue from expert to expert. The router is not
/// among the logical matrices.
std::vector<LogicalMatrix> logical_matrices(const Shape& shape, std::int64_t i);

}  // namespace evenkeel::norm
