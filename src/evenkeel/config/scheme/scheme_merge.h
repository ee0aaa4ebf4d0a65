// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <array>

namespace evenkeel::config {

/// The keys that describe a scheme itself. A child scheme does not inherit them.
inline constexpr std::array<const char*, 6> kInfoKeys = {"title",    "family", "source",
                                                         "equation", "note",   "warnings"};

/// Merges a child into its parent; the child overrides. Tables merge key by key; norms, learned
/// numbers, lists and plain values are replaced as a whole. Nodes are moved and keep their source
/// positions.
toml::table merge(toml::table parent, toml::table child);

}  // namespace evenkeel::config
