// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/directory.h"

/// Run folders: creation, status, and the list of all runs.
namespace evenkeel::store {

/// The content of RUN/provenance.json; an empty object if the file is missing, damaged or a
/// symbolic link.
nlohmann::json read_provenance(const Directory& run);

/// Removes temporary files that a dead process left in a folder: NAME.new-PROCESS.
/// \throws Error (io, exit code 74) if the folder cannot be read
void remove_dead_temporaries(const Directory& folder);

/// True for a folder that has files, but none that a run writes: a run would be started among
/// them. False for an empty or missing folder.
bool is_foreign_folder(const std::filesystem::path& folder);

/// For a message about a folder that is no run: "; it is a model of Hugging Face: `evenkeel import
/// FOLDER --output RUN` makes a run of it" if it has config.json and weights in Safetensors; else
/// "".
std::string import_hint(const std::filesystem::path& folder);

/// For a message about a missing run.toml: "; it has checkpoints: `evenkeel train --run FOLDER`
/// writes run.toml anew, and trains the steps that are left", or import_hint().
std::string no_run_hint(const std::filesystem::path& folder);

/// Creates a run folder and its missing parents, durably. Does nothing if the folder exists. The
/// umask sets the permissions, so that runs can be shared.
/// \throws Error (io, exit code 74)
void make_run_folder(const std::filesystem::path& run);

/// Creates the folder RUNS/STEM-NUMBER durably, with the smallest unused number from 1.
/// \param stem  "hybrid_norm_star-tiny", without a slash
/// \throws Error (io, exit code 74)
std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& stem);

/// The content of RUN/status.json.
struct Status {
  std::string state;                 // "training", "stopped", "finished" or "diverged"
  std::int64_t step = 0, steps = 0;  // steps so far, and steps of the whole run
  std::string scheme, preset;
  /// Maximum share of CPU time that other processes used, 0 to 1; nullopt if unknown.
  std::optional<double> cpu_contention = std::nullopt;
};

/// Replaces RUN/status.json atomically. Adds `started`, the time of the first call for this run,
/// `updated`, the time of this call (ISO 8601, UTC), and `host`: cores, memory in bytes with swap
/// space, and the load average over a minute.
/// \throws Error (io, exit code 74)
void write_status(const Directory& run, const Status& status);

/// The content of RUN/status.json; nullopt if the file is missing, damaged or a symbolic link.
/// \throws Error (io, exit code 74) if the file cannot be read
std::optional<Status> read_status(const Directory& run);

/// The state to show for a run: "interrupted" if its status.json says "training" but no process
/// has the lock; otherwise what status.json says.
/// \param written  Status::state
/// \param locked   is_locked() of the run, asked before status.json was read: a run that ends
///                 between the two counts as ended, not as interrupted
std::string shown_state(std::string written, bool locked);

/// A row of `evenkeel runs`. `state` is shown_state(), or one of:
///
///   "empty"    run.toml exists, status.json does not
///   "damaged"  status.json is damaged
struct RunSummary {
  std::filesystem::path folder;
  std::string scheme, preset, state;
  std::int64_t step = 0, steps = 0;
  std::int64_t parameters = 0;              // of the model; 0: unknown
  std::int64_t tokens = 0;                  // seen by the last logged step
  std::optional<double> loss, val_loss;     // last training and validation loss, nats per token
  std::optional<double> best_val_loss;      // smallest validation loss, nats per token
  std::optional<double> tokens_per_second;  // median of the logged steps
  std::optional<double> val_gap;   // last validation loss - entropy of the text, nats per byte
  double age_seconds = 0;          // seconds since the last record
  std::int64_t damaged_lines = 0;  // of metrics.jsonl, and of metrics.jsonl.damaged
};

/// The run folders in a folder and in its subfolders, up to four levels below it, sorted by folder,
/// by name and then by number; empty if the folder does not exist. A folder is a run if it contains
/// run.toml or status.json. Subfolders of a run, hidden ones and symbolic links to folders are not
/// searched.
/// \throws Error (io, exit code 74) if a folder cannot be read
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& runs);

/// The folders that run_folders() leaves out because this process may not read them: `runs` itself,
/// or folders in it and in its subfolders, sorted. Hidden ones and lost+found do not count.
/// \throws Error (io, exit code 74) if a folder cannot be read for another reason
std::vector<std::filesystem::path> unreadable_folders(const std::filesystem::path& runs);

/// What one search finds in a folder of runs.
struct FoundRuns {
  std::vector<RunSummary> runs;                   // list_runs()
  std::vector<std::filesystem::path> unreadable;  // unreadable_folders()
};

/// The runs of a folder, and the folders that may have more. That run alone if the folder is a run
/// itself.
/// \throws Error (io, exit code 74) if the folder, or a file of a run, cannot be read
FoundRuns find_runs(const std::filesystem::path& runs);

/// The runs of run_folders(), in this order; that run alone if the folder is a run itself.
/// \throws Error (io, exit code 74) if a folder or a file cannot be read
std::vector<RunSummary> list_runs(const std::filesystem::path& runs);

}  // namespace evenkeel::store
