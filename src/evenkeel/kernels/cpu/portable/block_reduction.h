// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cpu {

/// The sum of x^2 over one block of at most kBlockValues values.
template <typename T>
double sum_of_squares(const T* x, std::int64_t count);

/// Adds up the rows of sums [blocks, width] in the tree of reduction_order.h, in columns begin ..
/// end - 1; the result is in row 0, all other rows are overwritten.
void tree_sum(double* sums, std::int64_t blocks, std::int64_t width, std::int64_t begin,
              std::int64_t end);

}  // namespace evenkeel::kernels::cpu
