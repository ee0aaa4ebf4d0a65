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

/// Measures the CPU time that other processes use during a measurement.
class CpuContention {
 public:
  /// Timings with a larger share are invalid.
  static constexpr double kMaxShare = 0.10;

  /// Starts the measurement.
  CpuContention();

  /// The share of CPU time that other processes used since the construction, 0 to 1, over all
  /// cores. Steal time counts as other; ended child processes count as this process. nullopt if
  /// /proc/stat is not readable.
  std::optional<double> share() const;

 private:
  std::optional<CpuTicks> start_;
  double own_seconds_ = 0;  // CPU time of this process at the construction, seconds
};

/// Sleeps for `seconds` and returns the share of CPU time that other processes used.
std::optional<double> cpu_contention_over(double seconds);

}  // namespace evenkeel
