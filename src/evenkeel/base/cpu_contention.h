// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace evenkeel {

/// CPU time of all cores since boot (/proc/stat), in ticks of 1 / sysconf(_SC_CLK_TCK) seconds.
struct CpuTicks {
  std::int64_t busy = 0;    // user, nice, system, interrupts
  std::int64_t idle = 0;    // idle, or waiting for I/O
  std::int64_t stolen = 0;  // steal time: the hypervisor ran another guest
};

/// Parses the first line of /proc/stat; nullopt if it has another form.
std::optional<CpuTicks> parsed_cpu_ticks(const char* text);

/// The CPU time that a process used, in seconds.
struct CpuSeconds {
  double own = 0;       // of the process
  double children = 0;  // of its ended child processes
};

/// The share of CPU time that other processes used between two readings, 0 to 1, over all cores.
/// Steal time counts as other; ended child processes count as this process. nullopt if no tick
/// passed.
///
///   share = (busy + stolen - ticks_per_second * (own + children)) / (busy + stolen + idle)
///
/// \param used              CPU time of this process between the readings
/// \param ticks_per_second  sysconf(_SC_CLK_TCK)
std::optional<double> contention_between(const CpuTicks& before, const CpuTicks& after,
                                         const CpuSeconds& used, double ticks_per_second);

/// Measures the CPU time that other processes use during a measurement.
class CpuContention {
 public:
  /// Timings with a larger share are invalid.
  static constexpr double kMaxShare = 0.10;

  /// Starts the measurement.
  CpuContention();

  /// contention_between() since the construction. nullopt if /proc/stat is not readable.
  std::optional<double> share() const;

 private:
  std::optional<CpuTicks> start_;
  CpuSeconds used_;  // at the construction
};

/// Sleeps for `seconds` and returns the share of CPU time that other processes used.
std::optional<double> cpu_contention_over(double seconds);

}  // namespace evenkeel
