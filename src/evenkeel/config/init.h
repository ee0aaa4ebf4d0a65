// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/scheme.h"

/// What `model.init` says when it is not "scheme": a distribution for all matrices, and factors.
namespace evenkeel::config {

/// The distribution that a text other than "scheme" names, with its numbers for one shape:
/// `normal(std)`, `trunc_normal(std, k)`, `uniform(a, b)`, `xavier(gain)`, or a word that stands
/// for one:
///
///   normal, megatron, depth_scaled, default   trunc_normal(1/sqrt(2.5*d), 3)
///   xavier                                    xavier(1)
///
/// \param shape  norm::Shape::variables()
/// \param where  the start of a message: "mine.toml:3: model.init"
/// \throws Error (usage)
/// \source arXiv 2503.04598, table 5 (normal, megatron, depth_scaled)
norm::Distribution parse_init(const std::string& text, const norm::Variables& shape,
                              std::string_view where = "model.init");

/// What a word adds to its distribution: `megatron` multiplies attention.output and
/// feed_forward.down by 1/sqrt(2*N), `depth_scaled` by 1/sqrt(2*l); any other text adds nothing.
std::vector<norm::InitFactor> init_factors(std::string_view text);

}  // namespace evenkeel::config
