// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// What reading a sublayer needs besides its table.
struct SublayerContext {
  norm::Norm norm;        // the scheme's own
  norm::Variables sizes;  // for numbers that are computed at once
  bool is_patch = false;  // a patch may change one key of a learned value, `{ init = 2 }`
};

/// A fixed number, or a learned value whose size is among `sizes` ("scalar", "vector", ...).
/// \throws SchemeError
norm::Number read_number(const toml::node& node, const Place& place,
                         const std::vector<std::string>& sizes, const SublayerContext& context);

/// \throws SchemeError
norm::Attention read_attention(const toml::table& table, const Place& place,
                               const SublayerContext& context);
norm::FeedForward read_feed_forward(const toml::table& table, const Place& place,
                                    const SublayerContext& context);

}  // namespace evenkeel::config
