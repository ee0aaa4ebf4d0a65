// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/config/scheme/scheme_value.h"

namespace evenkeel::config {

/// Reads the norm of one place: "norm", "norm per head", a kind, a kind with "per head", "none" or
/// a table. A table without `kind` starts from the scheme's default norm.
/// \param own    the scheme's default norm, from the key `norm`
/// \param sizes  variables for fields that are evaluated here (epsilon, partial, momentum)
/// \return nullopt for "none"
/// \throws SchemeError unknown_kind, unknown_key, bad_value, or that of an invalid expression
std::optional<norm::Norm> read_norm(const toml::node& node, const Place& place,
                                    const norm::Norm& own, const norm::Variables& sizes);

}  // namespace evenkeel::config
