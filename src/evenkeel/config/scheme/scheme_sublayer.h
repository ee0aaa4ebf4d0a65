// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// What reading a sublayer needs in addition to its table.
struct SublayerContext {
  norm::Norm norm;        // the scheme's own
  norm::Variables sizes;  // variables of values that are evaluated here
  bool is_patch = false;  // a patch may change one key of a learned value, `{ init = 2 }`
};

/// Reads a fixed number or a learned value.
/// \param sizes  the allowed sizes of a learned value: "scalar", "vector", "per_head"
/// \throws SchemeError bad_value, unknown_key, or the expression's error
norm::Number read_number(const toml::node& node, const Place& place,
                         const std::vector<std::string>& sizes, const SublayerContext& context);

/// Reads the tables [attention] and [feed_forward].
/// \throws SchemeError bad_skip, bad_update, or as read_norm() and read_number()
norm::Attention read_attention(const toml::table& table, const Place& place,
                               const SublayerContext& context);
norm::FeedForward read_feed_forward(const toml::table& table, const Place& place,
                                    const SublayerContext& context);

}  // namespace evenkeel::config
