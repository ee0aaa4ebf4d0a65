// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace evenkeel::comm {

/// A rank that is slower than all other ranks.
struct Straggler {
  int rank = 0;
  double factor = 1;  // its time / the median of the times of all other ranks
  int steps = 0;      // of this many steps
};

/// `rank 2 (a2) took 1.4 times the median of the others in 50 steps`
std::string straggler_text(const Straggler& straggler, const std::string& host);

/// Finds the rank that all others wait for. All ranks call it with the same numbers.
class Stragglers {
 public:
  explicit Stragglers(int ranks) : sums_(static_cast<std::size_t>(ranks)) {}

  /// Adds a step. Every 50 steps it compares the sums, and begins again.
  /// \param seconds  that each rank computed, without the time in collective calls; [ranks]
  /// \return the slowest rank, if it took 1.25 times the median of all other ranks or more
  std::optional<Straggler> add(const std::vector<double>& seconds);

 private:
  std::vector<double> sums_;
  int steps_ = 0;
};

}  // namespace evenkeel::comm
