// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

namespace evenkeel::train {

/// How unusual the values of a series are: z = (x - mean) / standard deviation of the last 128
/// values, x included. llm.c prints the same number.
/// \source llm.c, llmc/outlier_detector.h (update_detector)
class ZScore {
 public:
  /// Appends a value. NaN and infinity are not appended.
  /// \return z; 0 if the deviation is 0; nullopt for fewer than 128 values, NaN or infinity
  std::optional<double> observe(double value);

 private:
  std::deque<double> window_;  // the newest value is the last
};

}  // namespace evenkeel::train
