// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace evenkeel::kernels::cuda {

/// Groups of rows that are summed apart, each from its own first row: sequences, or 1.
struct RowGroups {
  std::int64_t groups, rows;  // rows of a group
};

}  // namespace evenkeel::kernels::cuda
