// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// Time of one arm of a benchmark / time of another: the median over rounds and its 95 % interval.
struct Ratio {
  std::string name;
  double median = 1, low = 1, high = 1;
  double goal = 0;        // largest ratio that meets the goal; 0: no goal
  bool is_judged = true;  // false: the machine was busy, so the goal is neither met nor missed
};

/// A figure with one row per ratio: the interval, a line at 1, and a mark at the goal. The colour
/// shows whether the goal is met. Many rows are split into figures that fit a printed page.
/// \param note  explanation of the ratio, below the title
/// \return HTML; "" without a finite ratio
std::string ratio_figures(const std::string& title, const std::string& note,
                          const std::vector<Ratio>& ratios);

}  // namespace evenkeel::report
