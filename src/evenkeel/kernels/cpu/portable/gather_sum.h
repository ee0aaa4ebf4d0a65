// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// The sum of some rows in the order in which they are named, in float (double for double),
/// rounded once.
///
///   to[j] = sum over i of rows[index[i], j]             or, is_added,
///   to[j] = to[j] + sum over i of rows[index[i], j]
///
/// \param rows   [any, width]
/// \param index  [count]
/// \param to     [width], no row of `rows`
template <typename T, typename To>
void gather_sum(const T* rows, const std::int64_t* index, std::int64_t count, To* to,
                std::int64_t width, bool is_added = false);

}  // namespace evenkeel::kernels::cpu
