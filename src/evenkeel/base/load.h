// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace evenkeel {

/// What processors did since the machine started, in ticks of all of them together.
struct Ticks {
  std::int64_t busy = 0, idle = 0, stolen = 0;
};

/// Out of the text of /proc/stat; none if it has another form.
std::optional<Ticks> ticks_in(const char* text);

/// What others do on this machine while something is timed.
class Load {
 public:
  /// More than this, and a timing is void.
  static constexpr double kMost = 0.10;

  /// Watches from now on.
  Load();

  /// Share of all processors' time that went to others since then, what a host took away included;
  /// none where the kernel does not say. Children of this process are no others once they ended.
  std::optional<double> others() const;

 private:
  std::optional<Ticks> start_;
  double own_ = 0;  // seconds
};

/// The same over `seconds` of doing nothing.
std::optional<double> load_now(double seconds);

}  // namespace evenkeel
