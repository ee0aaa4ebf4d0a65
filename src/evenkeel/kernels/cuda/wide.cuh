// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace evenkeel::kernels::cuda {

/// The dtype of what stands beside rows of T and is shared by them: gains and biases.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace evenkeel::kernels::cuda
