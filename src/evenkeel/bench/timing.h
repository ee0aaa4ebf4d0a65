// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

/// Interleaved timing: all arms run in one process, in turn, round by round. A change of the
/// machine's speed then affects all arms.
namespace evenkeel::bench {

/// One of the compared functions.
struct Arm {
  std::string name;
  std::function<void()> run;
};

/// The times of one arm.
struct Timing {
  std::string name;
  std::vector<double> seconds;  // seconds per call, one entry per round
  double least() const;         // minimum, seconds
  double median() const;        // seconds
};

/// The ratio of the times of two arms.
struct Ratio {
  double median = 0;         // median of the ratios per round
  double low = 0, high = 0;  // distribution-free confidence interval of the median, at least 95 %
  double least = 0;          // ratio of the minima
};

/// Runs each arm once per round; every second round has the reverse order. The first `warmups`
/// rounds are not recorded.
/// \param calls  calls of run() per measurement; the recorded seconds are per call
std::vector<Timing> interleaved_timings(const std::vector<Arm>& arms, int rounds, int warmups = 2,
                                        int calls = 1);

/// The ratio of one / other, round by round. Both need the same number of rounds.
Ratio ratio(const Timing& one, const Timing& other);

/// The number of calls, 1 to 1000, that takes about `seconds` in total.
int calls_for(const Arm& arm, double seconds);

}  // namespace evenkeel::bench
