// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/config/scheme/scheme_value.h"

/// The rules of a scheme that stand in lists: init, reparameterize, hooks.
namespace evenkeel::config {

/// \throws SchemeError
std::vector<norm::InitFactor> read_init(const toml::node& node, const Place& place);
std::vector<norm::Reparameterization> read_reparameterize(const toml::node& node,
                                                          const Place& place);
std::vector<norm::Hook> read_hooks(const toml::node& node, const Place& place,
                                   const norm::Variables& sizes);

}  // namespace evenkeel::config
