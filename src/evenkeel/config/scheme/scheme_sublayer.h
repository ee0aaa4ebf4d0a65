// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// The inputs of read_attention() and read_feed_forward() other than the table.
struct SublayerContext {
  norm::Norm norm;        // the scheme's default norm
  norm::Variables sizes;  // variables for values that are evaluated here
  bool is_patch = false;  // a patch may change a single key of a learned number: `{ init = 2 }`
};

/// Reads a fixed or a learned number.
/// \param sizes  permitted sizes of a learned number: "scalar", "vector", "per_head"
/// \throws SchemeError bad_value, unknown_key, or that of an invalid expression
norm::Number read_number(const toml::node& node, const Place& place,
                         const std::vector<std::string>& sizes, const SublayerContext& context);

/// Reads the tables [attention] and [feed_forward].
/// \throws SchemeError bad_skip, bad_update, or those of read_norm() and read_number()
norm::Attention read_attention(const toml::table& table, const Place& place,
                               const SublayerContext& context);
norm::FeedForward read_feed_forward(const toml::table& table, const Place& place,
                                    const SublayerContext& context);

}  // namespace evenkeel::config
