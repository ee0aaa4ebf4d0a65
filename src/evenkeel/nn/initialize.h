// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// Initializes all parameters and buffers: gains as in the scheme, biases 0, matrices random. Every
/// value of every parameter is overwritten.
///
/// Each random number is a pure function of (seed, tensor name, index). init = "scheme" takes
/// distribution and factors of the scheme, whose "default" is `normal`. Other values of init
/// replace both:
///   normal        truncated normal, std 1/sqrt(2.5 d), cut at 3 std
///   megatron      as normal; W_output and W_down times 1/sqrt(2 N)
///   depth_scaled  as normal; W_output and W_down of layer l times 1/sqrt(2 l)
///   xavier        normal, std sqrt(2/(rows + columns)) of each slice (q, k, v, up, gate)
///   normal(s), trunc_normal(s, k), uniform(a, b), xavier(gain)
///
/// \param planned  planned optimizer steps: T in expressions of the scheme; t is 0
/// \source arXiv:2503.04598, section 5.3 (normal, depth_scaled, megatron)
void initialize(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                std::uint64_t seed, std::int64_t planned);

}  // namespace evenkeel::nn
