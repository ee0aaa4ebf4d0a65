// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/scheme.h"

/// The key `model.init` if it is not "scheme": one distribution for all matrices, and init factors.
namespace evenkeel::config {

/// The distribution that `text` describes, evaluated for one shape: `normal(std)`,
/// `trunc_normal(std, k)`, `uniform(a, b)`, `xavier(gain)`, or one of these names:
///
///   normal, megatron, depth_scaled, default   trunc_normal(1/sqrt(2.5*d), 3)
///   xavier                                    xavier(1)
///
/// \param shape  result of norm::Shape::variables()
/// \param where  prefix of a message: "mine.toml:3: model.init"
/// \throws Error (usage, exit code 64)
/// \source arXiv:2503.04598, table 5 (normal, megatron, depth_scaled)
norm::Distribution parse_init(const std::string& text, const norm::Variables& shape,
                              std::string_view where = "model.init");

/// The init factors of a name. `megatron` multiplies attention.output and feed_forward.down by
/// 1/sqrt(2*N), `depth_scaled` by 1/sqrt(2*l); other texts have no factors.
std::vector<norm::InitFactor> init_factors(std::string_view text);

}  // namespace evenkeel::config
