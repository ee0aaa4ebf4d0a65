// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

/// Comparison of durations: all arms run in one process, in turn, round by round, so that a change
/// of the machine's speed affects all of them.
namespace evenkeel::bench {

/// One of the things that are compared.
struct Arm {
  std::string name;
  std::function<void()> run;
};

/// The times of one arm.
struct Timing {
  std::string name;
  std::vector<double> seconds;  // of one call, a number a round
  double least() const;         // seconds
  double median() const;        // seconds
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

/// The ratio of one arm over another, round by round. Both must have equally many rounds.
Ratio ratio(const Timing& one, const Timing& other);

/// The number of calls, 1 to 1000, that take about so many seconds together.
int calls_for(const Arm& arm, double seconds);

}  // namespace evenkeel::bench
