// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/report/layer_map.h"

namespace evenkeel::report {

/// The largest number of columns of a heat map.
inline constexpr std::size_t kHeatMapColumns = 60;

/// A map as `<figure>`: layers upwards, probed steps to the right, values as colours. Positive
/// values that span more than a factor of 20 are coloured by their logarithm. With more than
/// kHeatMapColumns steps some are left out, but never the first and the last. The tooltip of a cell
/// shows its value.
/// \param x_label  meaning of the keys of LayerMap::values
std::string heat_map(const LayerMap& map, const std::string& title, const std::string& unit,
                     const std::string& x_label = "step");

}  // namespace evenkeel::report
