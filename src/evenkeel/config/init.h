// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/scheme.h"

/// The key `model.init`, other than "scheme": a distribution for all matrices, and factors.
namespace evenkeel::config {

/// The distribution of a text other than "scheme", with its numbers for one shape:
/// `normal(std)`, `trunc_normal(std, k)`, `uniform(a, b)`, `xavier(gain)`, or a name:
///
///   normal, megatron, depth_scaled, default   trunc_normal(1/sqrt(2.5*d), 3)
///   xavier                                    xavier(1)
///
/// \param shape  the variables of norm::Shape::variables()
/// \param where  the start of a message: "mine.toml:3: model.init"
/// \throws Error (usage)
/// \source arXiv 2503.04598, table 5 (normal, megatron, depth_scaled)
norm::Distribution parse_init(const std::string& text, const norm::Variables& shape,
                              std::string_view where = "model.init");

/// The factors on initial values that a name implies: `megatron` multiplies attention.output and
/// feed_forward.down by 1/sqrt(2*N), `depth_scaled` by 1/sqrt(2*l); any other text has none.
std::vector<norm::InitFactor> init_factors(std::string_view text);

}  // namespace evenkeel::config
