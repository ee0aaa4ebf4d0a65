// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/config/scheme/scheme_value.h"

/// The lists of a scheme: init, reparameterize, hooks.
namespace evenkeel::config {

/// Reads `init`, `reparameterize` and `hooks`.
/// \param sizes  variables for the threshold of a hook
/// \throws SchemeError unknown_key, bad_value, or that of an invalid expression
std::vector<norm::InitFactor> read_init(const toml::node& node, const Place& place);
std::vector<norm::Reparameterization> read_reparameterize(const toml::node& node,
                                                          const Place& place);
std::vector<norm::Hook> read_hooks(const toml::node& node, const Place& place,
                                   const norm::Variables& sizes);

}  // namespace evenkeel::config
