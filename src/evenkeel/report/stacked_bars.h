// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::report {

/// One bar: a name and the parts of its sum.
struct StackedBar {
  std::string name;
  std::vector<std::pair<std::string, double>> parts;  // same names in all bars; values >= 0
};

/// A figure with one stacked bar per row, and a legend of the parts; "" without rows.
/// \param unit  unit of the values, "ms"
/// \param note  one sentence below the title
std::string stacked_bars(const std::string& title, const std::string& unit, const std::string& note,
                         const std::vector<StackedBar>& rows);

}  // namespace evenkeel::report
