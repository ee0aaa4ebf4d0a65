// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "evenkeel/store/safetensors.h"

/// Conversion of the values of tensors between dtypes.
namespace evenkeel::convert {

/// True for F64, F32, BF16 and F16, which widen() reads.
bool is_floating(store::Dtype dtype);

/// The values of `to.size()` elements.
/// \param from  contiguous, little-endian, without alignment
void widen(const void* from, store::Dtype dtype, std::span<double> to);

/// Writes values as elements: first rounded to float32, then to the dtype, each to nearest, ties to
/// even, as `Tensor.to` of PyTorch does. A value beyond the range becomes infinite.
/// \param dtype  F32, BF16 or F16
void narrow(std::span<const double> from, store::Dtype dtype, void* to);

}  // namespace evenkeel::convert
