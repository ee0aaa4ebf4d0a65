// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::norm {

/// A slice of the rows of a fused weight: attention.q is a slice of attention.qkv. Init factors,
/// reparameterizations and hooks name logical matrices.
struct LogicalMatrix {
  std::string name;                               // "attention.q"
  std::string stored;                             // "attention.qkv"
  std::int64_t first = 0, rows = 0, columns = 0;  // rows [first, first + rows) of `stored`
  std::string own_name;  // prefix of the tensors that belong to this slice alone: "attention.q";
                         // with experts "feed_forward.experts.7.up"
};

/// The logical matrices of a block, without the router. The order is that of the stored matrices
/// (qkv, output, up_gate, down; shared experts last), and by first row within a stored matrix. The
/// rows of stacked experts are numbered continuously.
/// \param i  block, from 0
std::vector<LogicalMatrix> logical_matrices(const Shape& shape, std::int64_t i);

}  // namespace evenkeel::norm
