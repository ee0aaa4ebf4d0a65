// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/report/layer_map.h"

namespace evenkeel::report {

/// How many columns a heat map shows at most.
inline constexpr std::size_t kHeatMapColumns = 60;

/// A figure of a map: layers upwards, probed steps to the right, a value as a colour. Positive
/// values that span more than a factor of 20 are coloured by their logarithm. With more than
/// kHeatMapColumns steps some are left out, but not the first and the last. The tooltip of a cell
/// is its value.
/// \param x_label  what the keys of the map's values are
std::string heat_map(const LayerMap& map, const std::string& title, const std::string& unit,
                     const std::string& x_label = "step");

}  // namespace evenkeel::report
