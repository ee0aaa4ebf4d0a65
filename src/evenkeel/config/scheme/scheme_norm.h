// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// What stands in a norm slot: "norm", "norm per head", a kind, a kind "per head", "none" or a
/// table. A table without `kind` starts from the scheme's own norm.
/// \param own    the scheme's own norm
/// \param sizes  for fields that are computed at once (epsilon, partial, momentum)
/// \return nothing for "none"
/// \throws SchemeError
std::optional<norm::Norm> read_norm(const toml::node& node, const Place& place,
                                    const norm::Norm& own, const norm::Variables& sizes);

}  // namespace evenkeel::config
