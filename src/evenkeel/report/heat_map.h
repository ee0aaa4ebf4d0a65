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
/// kHeatMapColumns steps some are left out, but never the first and the last. A column reaches
/// halfway to its neighbours; all columns are equally wide if one of them would be too thin to see.
/// The tooltip of a cell of a small map shows its value; the script of the page shows that of any.
/// A map of one value is a sentence.
/// \param x_label  meaning of the keys of LayerMap::values
/// \param like     a map whose colours must mean the same values; nullptr: none
std::string heat_map(const LayerMap& map, const std::string& title, const std::string& unit,
                     const std::string& x_label = "step", const LayerMap* like = nullptr);

}  // namespace evenkeel::report
