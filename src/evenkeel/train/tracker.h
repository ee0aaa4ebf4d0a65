// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/tracking/csv_file.h"
#include "evenkeel/tracking/event_log.h"

namespace evenkeel::train {

/// Writes the records of a run for other programs, as [log] says: event files for TensorBoard and
/// metrics.csv. A file that cannot be written ends for this process; the run continues, and the
/// next start completes the file.
class Tracker {
 public:
  /// Called when a file ends. \param error  the reason, with the path of the file
  using OnFailure = std::function<void(const std::string& error)>;

  /// \param config  must outlive the Tracker
  Tracker(store::Directory run, const config::Config& config, OnFailure on_failure);

  /// Makes the files agree with the records files, and begins a new event file.
  /// \param step     of the checkpoint from which the run resumes; 0: a new run
  /// \param sources  names of the sources of a mixture
  void start(std::int64_t step, const std::vector<std::string>& sources);

  /// Takes a line of metrics.jsonl.
  void add_metrics(const nlohmann::ordered_json& line);
  /// Takes a line of evaluations.jsonl.
  void add_task(const nlohmann::ordered_json& line);
  /// Takes a line of probes.jsonl.
  void add_probe(const nlohmann::ordered_json& line);

  /// Writes events that wait since 5 seconds.
  void flush_if_due();
  /// Writes events that wait.
  void flush();
  /// Writes what is left, and the sample of the model. Records of this step must not follow.
  void finish(std::int64_t step);

 private:
  template <typename File, typename Act>
  void attempt(std::optional<File>& file, const Act& act);

  store::Directory run_;
  const config::Config& config_;
  OnFailure on_failure_;
  std::optional<tracking::EventLog> events_;
  std::optional<tracking::CsvFile> csv_;
};

}  // namespace evenkeel::train
