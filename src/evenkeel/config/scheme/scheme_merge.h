// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <array>

namespace evenkeel::config {

/// The keys with which a scheme describes itself; a child does not inherit them.
inline constexpr std::array<const char*, 6> kInfoKeys = {"title",    "family", "source",
                                                         "equation", "note",   "warnings"};

/// The child's keys over its parent's. Tables merge key by key; a norm, a learned value, a list and
/// a plain value are replaced whole. Nodes are moved and keep their file and line.
toml::table merge(toml::table parent, toml::table child);

}  // namespace evenkeel::config
