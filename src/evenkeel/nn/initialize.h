// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// Fills every matrix with its initial values; gains already have theirs.
///
/// Each value is a pure function of (seed, tensor name, index). With init = "scheme" the scheme's
/// own distribution and factors count, where its "default" means `normal`; any other word replaces
/// both:
///   normal        normal, std 1/sqrt(2.5 d), cut at 3 deviations
///   megatron      the same; attention output and down times 1/sqrt(2 N)
///   depth_scaled  the same; block l: attention output and down times 1/sqrt(2 l)
///   xavier        normal, std sqrt(2/(rows + columns)) of the logical matrix
///   normal(s), trunc_normal(s, k), uniform(a, b), xavier(gain)
///
/// \source arXiv:2503.04598, section 5.3 (normal, depth_scaled, megatron)
void initialize(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                std::uint64_t seed);

}  // namespace evenkeel::nn
