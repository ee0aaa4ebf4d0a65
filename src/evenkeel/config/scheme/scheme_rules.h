// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/config/scheme/scheme_value.h"

/// The rules of a scheme that are lists: init, reparameterize, hooks.
namespace evenkeel::config {

/// Reads the keys `init`, `reparameterize` and `hooks`.
/// \param sizes  variables of a hook's threshold
/// \throws SchemeError unknown_key, bad_value, or the expression's error
std::vector<norm::InitFactor> read_init(const toml::node& node, const Place& place);
std::vector<norm::Reparameterization> read_reparameterize(const toml::node& node,
                                                          const Place& place);
std::vector<norm::Hook> read_hooks(const toml::node& node, const Place& place,
                                   const norm::Variables& sizes);

}  // namespace evenkeel::config
