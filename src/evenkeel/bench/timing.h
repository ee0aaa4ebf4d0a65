// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
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
  /// Quartile 1 or 3 in seconds, interpolated between two times as in numpy.percentile.
  double quartile(int which) const;
};

/// The ratio of the times of two arms.
struct Ratio {
  double median = 0;         // median of the ratios per round
  double low = 0, high = 0;  // distribution-free confidence interval of the median: at least 95 %,
                             // of fewer than six rounds range_confidence()
  double least = 0;          // ratio of the minima
};

/// Runs each arm once per round; every second round has the reverse order. The first `warmups`
/// rounds are not recorded.
/// \param calls  calls of run() per measurement; the recorded seconds are per call
std::vector<Timing> interleaved_timings(const std::vector<Arm>& arms, int rounds, int warmups = 2,
                                        int calls = 1);

/// Timed rounds, and how many of them other processes disturbed.
struct Rounds {
  std::vector<Timing> timings;  // one per arm
  int repeated = 0;             // disturbed rounds that were measured again
  /// The largest share of CPU time that other processes took in a counted round; nullopt: unknown
  /// for a counted round.
  std::optional<double> contention;
};

/// Runs a function, and returns the share of CPU time that other processes took meanwhile, 0 to 1;
/// nullopt: unknown.
using ShareDuring = std::function<std::optional<double>(const std::function<void()>&)>;

/// ShareDuring by CpuContention. Half a second is the least that the ticks of /proc/stat resolve;
/// the share of a shorter function is unknown.
std::optional<double> contention_during(const std::function<void()>& function);

/// interleaved_timings() with two warm-up rounds. A round in which other processes took more than
/// CpuContention::kMaxShare is repeated, and at most `rounds` rounds are.
Rounds repeated_timings(const std::vector<Arm>& arms, int rounds,
                        const ShareDuring& share_during = contention_during);

/// The least rounds whose ratios have an interval of 95 %.
inline constexpr int kRoundsOfInterval = 6;
/// The confidence with which the range of `rounds` values covers their median: 0.75 for 3.
double range_confidence(int rounds);

/// The ratio of one / other, round by round. Both need the same number of rounds.
Ratio ratio(const Timing& one, const Timing& other);

/// The ratio of the times of two separate measurements, one / other: the median of all ratios of a
/// time of one and a time of the other (Hodges and Lehmann 1963), with the interval of the
/// Mann-Whitney test, at least 95 %. Three times each are too few: the interval is 0 to infinity.
Ratio unpaired_ratio(const std::vector<double>& one, const std::vector<double>& other);

/// The number of calls, 1 to 1000, that takes about `seconds` in total.
int calls_for(const Arm& arm, double seconds);

}  // namespace evenkeel::bench
