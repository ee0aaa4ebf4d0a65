// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/toml_parser.h"
#include "evenkeel/study/definition/definition.h"

/// The grid of a study file. This header includes toml++.
namespace evenkeel::study {

/// The maximum number of arms of a study: combinations of the values of all axes.
inline constexpr std::int64_t kMaxArms = 10000;

/// The leaves of a table as settings: "train.steps=400". A scheme stays in one piece.
std::vector<std::string> leaf_settings(const toml::table& table);

/// The axes of [grid]: the scheme first, then axes of several keys.
/// \param where  the file, for messages
/// \throws Error (usage, exit code 64) for an axis that is no list of different values, and for
/// more
///         than kMaxArms arms
std::vector<Axis> parse_axes(const toml::table& grid, const std::string& where);

}  // namespace evenkeel::study
