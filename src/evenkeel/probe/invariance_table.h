// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::probe {

/// Tokens of each sequence of a sample, T.
constexpr std::int64_t kSampleTokens = 6;

/// An input z = x W^T of a norm, without bias.
struct Sample {
  at::Tensor x;       // [B, T, n]; the first feature is 1 in every token
  at::Tensor weight;  // [D, n]
  at::Tensor z() const;
};

/// A change of the input, and the range of outputs to compare.
struct Change {
  const char* name;
  at::Tensor (*apply)(const Sample&);  // returns the changed z
  std::int64_t positions = 0;  // compares the outputs at earlier positions only; 0: all outputs
};

/// The columns of the table.
constexpr std::size_t kChanges = 16;
const std::array<Change, kChanges>& changes();

/// A row of the table: a norm, and the expected effect of each change on its output.
struct InvarianceRow {
  std::string name;
  norm::Norm norm;
  nn::Mode mode = nn::Mode::training;
  std::string expected;  // one letter per change: '=' invariant, 'x' changes
};

/// The rows of all norm kinds with epsilon 0. A kind has several rows if its result depends on
/// parameters or on the mode.
std::vector<InvarianceRow> invariance_rows();

}  // namespace evenkeel::probe
