// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/simd.h"

namespace evenkeel::kernels::cpu {

/// A row times a number, rounded once: to[j] = weight row[j].
template <typename T>
void weigh_row(const T* row, Wide<T> weight, T* to, std::int64_t width);

/// Its gradient: drow[j] = weight dy[j].
/// \return that of the weight, the sum of dy[j] row[j], added up in double
template <typename T>
double weigh_row_backward(const T* dy, const T* row, Wide<T> weight, T* drow, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
