// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// Fills every parameter and state with its initial values: gains with those of the scheme, biases
/// with zeros, matrices with random numbers.
///
/// Each random number is a pure function of (seed, tensor name, index). init = "scheme" takes the
/// distribution and factors of the scheme, whose "default" is `normal`. Any other word replaces
/// both:
///   normal        normal, std 1/sqrt(2.5 d), cut at 3 deviations
///   megatron      the same; attention output and down times 1/sqrt(2 N)
///   depth_scaled  the same; block l: attention output and down times 1/sqrt(2 l)
///   xavier        normal, std sqrt(2/(rows + columns)) of the logical matrix
///   normal(s), trunc_normal(s, k), uniform(a, b), xavier(gain)
///
/// \param planned  optimizer steps of the run: T in the scheme's expressions, where t is 0
/// \source arXiv:2503.04598, section 5.3 (normal, depth_scaled, megatron)
void initialize(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                std::uint64_t seed, std::int64_t planned);

}  // namespace evenkeel::nn
