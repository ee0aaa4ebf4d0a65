// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace evenkeel::probe {

/// Standard normal numbers, a pure function of (seed, name, index).
/// \param name  name of the random stream: "probe/theory/X"
/// \return float64, in the shape `sizes`
at::Tensor randn(std::uint64_t seed, const std::string& name, at::IntArrayRef sizes);

/// Uniform token ids below `vocabulary`, a pure function of (seed, name, index).
/// \return [rows, columns], int64
at::Tensor random_tokens(std::uint64_t seed, const std::string& name, std::int64_t rows,
                         std::int64_t columns, std::int64_t vocabulary);

/// max |a - b| / max |b|; NaN if a and b are zero.
double max_relative_error(const at::Tensor& a, const at::Tensor& b);

}  // namespace evenkeel::probe
