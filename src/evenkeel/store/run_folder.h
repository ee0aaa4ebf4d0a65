// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

/// The folder of a run: who owns it, its records, its list.
namespace evenkeel::store {

/// Owns a run folder while it lives: an exclusive lock on RUN/lock, released by the kernel when the
/// process ends, however it ends.
class Lock {
 public:
  /// \throws Error (busy) with the owner's process id if another process holds it
  explicit Lock(const std::filesystem::path& run);
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  int descriptor_ = -1;
};

/// True while some process holds the run's lock.
bool is_locked(const std::filesystem::path& run);

/// A file of JSON lines that is only ever appended to; numbers in shortest round-trip form.
class Records {
 public:
  explicit Records(std::filesystem::path file) : file_(std::move(file)) {}

  /// Appends one line and hands it to the kernel.
  /// \throws Error (io)
  void append(const nlohmann::ordered_json& record);

  /// Drops lines whose "step" is greater than `step`, and a torn last line: what a run that goes
  /// on from a checkpoint of `step` will write again.
  void cut_after(std::int64_t step);

 private:
  std::filesystem::path file_;
};

/// All complete lines of a file of JSON lines; none if the file is missing.
std::vector<nlohmann::json> read_records(const std::filesystem::path& file);

/// A new folder runs/SCHEME-PRESET-NUMBER, with the first number that is free; created.
std::filesystem::path new_run_folder(const std::filesystem::path& runs, const std::string& stem);

/// What `evenkeel runs` lists.
struct RunSummary {
  std::filesystem::path folder;
  std::string scheme, preset, state;  // state: "training", "stopped", "finished", "diverged", "empty"
  std::int64_t step = 0, steps = 0;
  std::optional<double> loss, val_loss, val_gap;
  double age_seconds = 0;  // since the last record
};
std::vector<RunSummary> list_runs(const std::filesystem::path& runs);

}  // namespace evenkeel::store
