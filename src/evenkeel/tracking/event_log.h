// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "evenkeel/store/directory.h"
#include "evenkeel/tracking/event.h"
#include "evenkeel/tracking/event_names.h"

namespace evenkeel::tracking {

/// What TensorBoard shows of a run besides its records.
struct Session {
  std::vector<HParam> hparams;
  std::vector<std::pair<std::string, std::string>> texts;  // name and content: "run.toml"
};

/// The event files of a run folder, for TensorBoard: events.out.tfevents.SECONDS.HOST.PROCESS.0.
/// Each process that trains the run writes one. Together they have each value of metrics.jsonl,
/// evaluations.jsonl and probes.jsonl once, as float32.
///
/// Records wait in memory until flush(), or for 5 seconds. What a crash takes is written by the
/// next start() from the records files.
class EventLog {
 public:
  /// \param layers  blocks of the model
  EventLog(store::Directory run, std::int64_t layers) : run_(std::move(run)), layers_(layers) {}

  /// Makes the event files agree with the records files, whose resume() came before, and begins a
  /// new file. Values of later steps, values that no records file has, and torn records are removed
  /// from older files; these are rewritten in a temporary file and renamed. Values that they lack
  /// are written into the new file.
  /// \param step  of the checkpoint from which the run resumes; 0: a new run
  /// \throws FullDisk, Error (io, exit code 74), as all functions of this class do
  void start(std::int64_t step, const Session& session);

  /// Adds a line of metrics.jsonl.
  void add_metrics(const nlohmann::ordered_json& line) { add(line, metric_values(line)); }
  /// Adds a line of evaluations.jsonl.
  void add_task(const nlohmann::ordered_json& line) { add(line, task_values(line)); }
  /// Adds a line of probes.jsonl.
  void add_probe(const nlohmann::ordered_json& line) { add(line, probe_values(line, layers_)); }
  /// Adds a text under a name: "sample".
  void add_text(std::int64_t step, const std::string& name, const std::string& content);

  /// Writes the waiting records if they wait since 5 seconds.
  void flush_if_due();
  /// Writes the waiting records.
  void flush();

 private:
  /// A line of a records file as it becomes an event.
  struct Expected {
    std::int64_t step = 0;
    std::vector<TaggedValue> values;
  };

  void add(const nlohmann::ordered_json& line, const std::vector<TaggedValue>& values);
  std::vector<Expected> expected_events() const;
  void begin_file(std::int64_t after);
  void write(std::string_view bytes) const;

  store::Directory run_;
  std::int64_t layers_;
  std::string name_;     // of the file of this process
  std::string waiting_;  // records
  std::chrono::steady_clock::time_point written_;
};

}  // namespace evenkeel::tracking
