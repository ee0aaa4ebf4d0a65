// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The folder of a run: its creation, its status, and the list of all runs.
namespace evenkeel::store {

/// The content of RUN/provenance.json; an empty object if it is missing or damaged.
nlohmann::json read_provenance(const std::filesystem::path& run);

/// Creates a run folder and its missing parents, durably: they survive a power cut. Does nothing if
/// the folder exists. Permissions are those of the umask, so that runs can be shared.
/// \throws Error (io)
void make_run_folder(const std::filesystem::path& run);

/// Creates a folder RUNS/STEM-NUMBER, durably, with the first free number from 1.
/// \param stem  "hybrid_norm_star-tiny", without a slash
/// \throws Error (io)
std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& stem);

/// The status of a run: RUN/status.json.
struct Status {
  std::string state;                 // "training", "stopped", "finished" or "diverged"
  std::int64_t step = 0, steps = 0;  // taken, and of the whole run
  std::string scheme, preset;
  /// Share of CPU time that other processes took, the largest so far; none if it is unknown.
  std::optional<double> cpu_contention = std::nullopt;
};

/// Replaces RUN/status.json atomically.
/// \throws Error (io)
void write_status(const std::filesystem::path& run, const Status& status);

/// The status in RUN/status.json; none if the file is missing or damaged.
/// \throws Error (io) if it cannot be read
std::optional<Status> read_status(const std::filesystem::path& run);

/// One run in the list of `evenkeel runs`. `state` is that of Status, or
///
///   "interrupted"  the status is "training", but no process holds the lock
///   "empty"        there is run.toml, but no status.json
///   "damaged"      status.json is damaged
struct RunSummary {
  std::filesystem::path folder;
  std::string scheme, preset, state;
  std::int64_t step = 0, steps = 0;
  std::optional<double> loss, val_loss;  // nats a token, the last ones
  std::optional<double> val_gap;         // nats a byte above the text's entropy, the last one
  double age_seconds = 0;                // since the last record
};

/// The runs in a folder, sorted by name, then by number; none if the folder is missing. A folder is
/// a run if it has run.toml or status.json.
/// \throws Error (io) if a folder or a file cannot be read
std::vector<RunSummary> list_runs(const std::filesystem::path& runs);

}  // namespace evenkeel::store
