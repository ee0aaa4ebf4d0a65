// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace evenkeel::kernels::cuda {

/// The type of arithmetic on T, and of gains and biases (at::OpMathType): float, or double for
/// double.
template <typename T>
using OpMathType = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace evenkeel::kernels::cuda
