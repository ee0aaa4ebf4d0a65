// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme_value.h"

namespace evenkeel::config {

/// What is known around a half block.
struct Around {
  norm::Norm norm;        // the scheme's own
  norm::Variables sizes;  // for numbers that are computed at once
  bool is_patch = false;  // a patch may change one key of a learned value, `{ init = 2 }`
};

/// A fixed number, or a learned value whose size is among `sizes` ("scalar", "vector", ...).
/// \throws SchemeError
norm::Number read_number(const toml::node& node, const Place& place,
                         const std::vector<std::string>& sizes, const Around& around);

/// \throws SchemeError
norm::Attention read_attention(const toml::table& table, const Place& place, const Around& around);
norm::FeedForward read_feed_forward(const toml::table& table, const Place& place,
                                    const Around& around);

}  // namespace evenkeel::config
