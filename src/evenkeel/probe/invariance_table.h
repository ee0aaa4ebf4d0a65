// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>
#include <vector>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::probe {

/// The input of the norms: z = x W^T, without a bias.
struct Sample {
  at::Tensor x;       // [B, T, n]; its first feature is 1 in every token
  at::Tensor weight;  // [D, n]
  at::Tensor z() const;
};

/// A change of the sample, and what is compared: all outputs of the norm, or those before a token.
struct Change {
  const char* name;
  at::Tensor (*apply)(const Sample&);  // another z
  std::int64_t positions = 0;          // that are compared; 0: all
};

/// The columns of the table.
constexpr std::size_t kChanges = 13;
const std::array<Change, kChanges>& changes();

/// A row: a norm, and what each change does to its output.
struct InvarianceRow {
  std::string name;
  norm::Norm norm;
  nn::Mode mode = nn::Mode::training;
  std::string expected;  // a letter for each change: '=' invariant, 'x' changes
};

/// Every kind of norm, with epsilon 0, and where parameters or mode decide, each case of it.
std::vector<InvarianceRow> invariance_rows();

}  // namespace evenkeel::probe
