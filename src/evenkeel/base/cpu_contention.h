// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace evenkeel {

/// CPU time of all processors since boot (/proc/stat), in ticks.
struct CpuTicks {
  std::int64_t busy = 0, idle = 0, stolen = 0;
};

/// Parsed from the text of /proc/stat; none if it has another form.
std::optional<CpuTicks> parsed_cpu_ticks(const char* text);

/// Measures how much CPU time other processes take while something is timed.
class CpuContention {
 public:
  /// Above this share, timings are invalid.
  static constexpr double kMaxShare = 0.10;

  /// Starts the measurement.
  CpuContention();

  /// Share of all processors' time that other processes took since then, steal time
  /// of a hypervisor included;
  /// none where the kernel does not say. Children of this process that ended count as this process.
  std::optional<double> share() const;

 private:
  std::optional<CpuTicks> start_;
  double own_seconds_ = 0;  // seconds
};

/// The share over `seconds` of sleep.
std::optional<double> cpu_contention_over(double seconds);

}  // namespace evenkeel
