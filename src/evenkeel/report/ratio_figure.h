// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// How many times as long one thing takes as another: the median of the ratios of rounds in which
/// both had their turn, and its interval.
struct Ratio {
  std::string name;
  double median = 1, low = 1, high = 1;
  double goal = 0;        // at most; 0: none
  bool is_judged = true;  // false: measured on a busy machine, which meets or misses no goal
};

/// A row a ratio with its interval, a line at 1 and a mark at each goal, coloured by whether it is
/// met where that is judged; cut into figures that fit a printed page. "" without a finite ratio.
/// \param note  what is divided by what
std::string ratio_figures(const std::string& title, const std::string& note,
                          const std::vector<Ratio>& ratios);

}  // namespace evenkeel::report
