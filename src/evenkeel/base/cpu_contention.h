// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace evenkeel {

/// CPU time of all processors since boot (/proc/stat), in clock ticks of 1 / sysconf(_SC_CLK_TCK)
/// s.
struct CpuTicks {
  std::int64_t busy = 0;    // user, nice, system, interrupts
  std::int64_t idle = 0;    // idle, or waiting for input and output
  std::int64_t stolen = 0;  // steal time: a hypervisor ran another machine
};

/// Parsed from the first line of /proc/stat; none if the line has another form.
std::optional<CpuTicks> parsed_cpu_ticks(const char* text);

/// Measures how much CPU time other processes take while something is timed.
class CpuContention {
 public:
  /// Above this share, timings are invalid.
  static constexpr double kMaxShare = 0.10;

  /// Starts the measurement.
  CpuContention();

  /// Share in [0, 1] of all processors' time that other processes took since the start, steal time
  /// of a hypervisor included; none where the kernel does not say. Ended children of this process
  /// count as this process.
  std::optional<double> share() const;

 private:
  std::optional<CpuTicks> start_;
  double own_seconds_ = 0;  // seconds
};

/// The share that other processes take while this process sleeps for `seconds`.
std::optional<double> cpu_contention_over(double seconds);

}  // namespace evenkeel
