// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

/// Comparing durations honestly: all arms in one process, in turn, round by round.
namespace evenkeel::bench {

/// One of the things that are compared.
struct Arm {
  std::string name;
  std::function<void()> run;
};

/// Seconds of one arm, one number a round.
struct Timing {
  std::string name;
  std::vector<double> seconds;
  double least() const;
  double median() const;
};

/// How one arm compares with another.
struct Ratio {
  double median = 0;         // of the ratios of the rounds
  double low = 0, high = 0;  // interval of that median, 95 % or a little more; rank statistics
  double least = 0;          // the least of one over the least of the other
};

/// Runs every arm once a round, in the given order and then backwards by turns, after `warmups`
/// rounds that do not count.
/// \param calls  of run() in one timed stretch; the seconds are those of one call
std::vector<Timing> interleaved_timings(const std::vector<Arm>& arms, int rounds, int warmups = 2,
                                        int calls = 1);

/// Of one arm over another, round by round. Both have as many rounds.
Ratio ratio(const Timing& one, const Timing& other);

/// As many calls as take about this long together; at least one.
int calls_for(const Arm& arm, double seconds);

}  // namespace evenkeel::bench
