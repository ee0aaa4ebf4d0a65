// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace evenkeel::probe {

/// Standard normal numbers, a pure function of (seed, name, place). float64
/// \param name  of their stream: "probe/theory/X"
at::Tensor randn(std::uint64_t seed, const std::string& name, at::IntArrayRef sizes);

/// Token ids below `vocabulary`, a function of the same arguments. [rows, columns], int64
at::Tensor random_tokens(std::uint64_t seed, const std::string& name, std::int64_t rows,
                         std::int64_t columns, std::int64_t vocabulary);

/// max |a - b| / max |b|; not a number where b is zero throughout and a too.
double max_relative_error(const at::Tensor& a, const at::Tensor& b);

}  // namespace evenkeel::probe
