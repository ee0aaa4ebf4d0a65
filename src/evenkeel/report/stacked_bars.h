// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::report {

/// One bar: a sum and its parts.
struct StackedBar {
  std::string name;
  std::vector<std::pair<std::string, double>> parts;  // the same names in every row, none below 0
};

/// A figure with one stacked bar a row, and a legend of the parts; "" without a row.
/// \param unit  of the values: "ms"
std::string stacked_bars(const std::string& title, const std::string& unit, const std::string& note,
                         const std::vector<StackedBar>& rows);

}  // namespace evenkeel::report
