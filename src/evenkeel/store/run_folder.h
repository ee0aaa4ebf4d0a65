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

/// What RUN/provenance.json says; an empty object if it is missing or damaged.
nlohmann::json read_provenance(const std::filesystem::path& run);

/// Makes a run folder and the parents that are missing, so that they survive a power cut; nothing
/// if it is there. Permissions are the umask's, so that runs can be shared.
/// \throws Error (io)
void make_run_folder(const std::filesystem::path& run);

/// A new folder runs/STEM-NUMBER, with the first number from 1 that is free; created durably.
/// \param stem  "hybrid_norm_star-tiny", without a slash
/// \throws Error (io)
std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& stem);

/// The status of a run: RUN/status.json.
struct Status {
  std::string state;  // "training", "stopped", "finished" or "diverged"
  std::int64_t step = 0, steps = 0;
  std::string scheme, preset;
  std::optional<double> cpu_contention =
      std::nullopt;  // share of CPU time that other processes took
};

/// Replaces RUN/status.json in one step.
/// \throws Error (io)
void write_status(const std::filesystem::path& run, const Status& status);

/// The status in RUN/status.json; none if it is missing or no status.
std::optional<Status> read_status(const std::filesystem::path& run);

/// What `evenkeel runs` lists. `state` is that of Status, or
///   "interrupted"  the status says training, but nobody holds the lock
///   "empty"        there is run.toml, but no status
///   "damaged"      status.json is no status
struct RunSummary {
  std::filesystem::path folder;
  std::string scheme, preset, state;
  std::int64_t step = 0, steps = 0;
  std::optional<double> loss, val_loss, val_gap;
  double age_seconds = 0;  // since the last record
};
/// The runs in a folder, by name, then by number; none if it is missing. Other folders are left
/// out.
std::vector<RunSummary> list_runs(const std::filesystem::path& runs);

}  // namespace evenkeel::store
