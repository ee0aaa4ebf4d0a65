// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// The time of one arm of a benchmark over that of another: the median of the ratios of the rounds,
/// and the confidence interval of that median.
struct Ratio {
  std::string name;
  double median = 1, low = 1, high = 1;
  double goal = 0;        // at most; 0: none
  bool is_judged = true;  // false: measured on a busy machine, which meets or misses no goal
};

/// A figure with one row a ratio: the interval, a line at 1, and a mark at the goal. The colour
/// says whether the goal is met, where that is judged. Many rows are cut into figures that fit a
/// printed page. "" without a finite ratio.
/// \param note  what is divided by what
std::string ratio_figures(const std::string& title, const std::string& note,
                          const std::vector<Ratio>& ratios);

}  // namespace evenkeel::report
