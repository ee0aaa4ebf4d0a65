// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/windows.h"

namespace evenkeel::data {

/// The training windows of a run. Window `i` of the run is a pure function of (seed, i); step s
/// reads the windows from s * batch.
///
/// In a mixture, the first n windows contain n * share windows of each source, up to a difference
/// below the number of sources; window `i` belongs to the source whose count grows from i to i + 1.
class TrainingBatches {
 public:
  /// \param sources  must outlive the object
  /// \param order    data.order: "shuffled", "file" or "olmo"
  TrainingBatches(const std::vector<Source>& sources, std::int64_t context, std::uint64_t seed,
                  const std::string& order);

  /// The windows [first, first + rows) of the run.
  Batch batch(std::int64_t first, std::int64_t rows) const;

  /// By source, how many of the first `windows` windows of the run belong to it. The sum is
  /// `windows`.
  std::vector<std::int64_t> counts(std::int64_t windows) const;

  /// The number of windows of one epoch of source `i`.
  std::int64_t epoch_size(std::size_t i) const { return windows_[i]->epoch_size(); }
  std::size_t sources() const { return windows_.size(); }

 private:
  std::vector<double> shares_;
  std::vector<std::unique_ptr<TrainingWindows>> windows_;  // by source
};

}  // namespace evenkeel::data
