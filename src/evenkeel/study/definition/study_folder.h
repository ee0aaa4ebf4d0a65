// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/store/lock.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// The folder of one study at one size:
///   study.toml    the study file
///   study.json    the parts of file and command line that determine runs and claims, the schemes
///                 of files, and the digests of the texts and tasks
///   workers.json  how the workers compute, and all texts that they read; absent without workers
///   logs/         configuration and output of each process
///   report.html  report.md  runs.csv
/// This process owns the folder as long as the object exists. Workers share it: each has the lock
/// only while it writes.
class StudyFolder {
 public:
  struct Options {
    bool allow_changes = false;  // the study may differ from study.json, not from workers.json
    /// What determines the runs in addition to the study file.
    std::vector<OwnScheme> schemes;
    std::vector<std::string> texts;  // "data.train DIGEST", one for each text; of tasks likewise
    /// For a worker: what determines the bits of its runs, RunCost::arithmetic. "": no worker.
    std::string worker_arithmetic;
    std::vector<std::string> worker_texts;  // likewise: "data.train DIGEST", one for each text
    double lock_seconds = 30;               // how long a worker waits for the lock
  };

  /// Creates the folder, or resumes the study in it. Texts are compared by name: a new one, one
  /// less and another order are no difference.
  /// \throws Error (differs) with the difference; whatever `allow_changes` is, also if the workers
  ///         of the study read another text (without worker_arithmetic only if study.json does not
  ///         have it) or, for a worker, compute differently; (usage) if the folder is no study
  ///         folder; (busy) if another process has locked it; (io)
  StudyFolder(const std::filesystem::path& folder, const Study& study, const Options& options);

  std::filesystem::path logs() const { return path_ / "logs"; }

  /// Replaces files of the folder: {name, content}. A symbolic link of this name is replaced. A
  /// worker waits for the lock.
  /// \throws Error (io), also if the folder was moved or replaced; (busy)
  void write(const std::vector<std::pair<std::string, std::string>>& files);

  /// Changes with --override since the study was created: "[[claims]] had ..., but has ..."
  const std::vector<std::string>& changes() const { return changes_; }

 private:
  bool is_shared() const { return !options_.worker_arithmetic.empty(); }
  void lock();
  void take_changes(const store::Directory& opened, const Study& study);
  void check_workers(const store::Directory& opened) const;
  void write_worker(const store::Directory& opened) const;

  std::filesystem::path path_;
  Options options_;
  std::vector<std::string> changes_;
  std::unique_ptr<store::Lock> lock_;
};

}  // namespace evenkeel::study
