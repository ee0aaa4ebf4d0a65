// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::kernels::cpu {

/// out[i] = the sum of rows[r][i] over r, in the tree of reduction_order.h over rows, in one pass
/// over memory: each value is read once.
/// \param rows   pointers to `count` values each; at least one row, at most 2^20
/// \param out    [count]; may be one of the rows
/// \tparam T     float, double
template <typename T>
void sum_of_rows(const std::vector<const T*>& rows, std::int64_t count, T* out);

}  // namespace evenkeel::kernels::cpu
