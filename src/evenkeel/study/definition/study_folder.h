// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/store/lock.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// The folder of one study at one size, owned by this process:
///   study.toml   the file
///   study.json   what of it, and of the command, decides which runs there are, and the claims
///                about them
///   logs/        what each process printed, and what it was started with
///   report.html  report.md  runs.csv
class StudyFolder {
 public:
  /// Begins it, or goes on with it.
  /// \param allow_changes  the study may differ from what the folder was begun with
  /// \throws Error (differs) that names what differs; Error (usage) for what is no study's folder;
  ///         Error (busy); Error (io)
  StudyFolder(const std::filesystem::path& folder, const Study& study, bool allow_changes);

  std::filesystem::path logs() const { return folder_ / "logs"; }

  /// What was changed after the study was begun, with --override: "[[claims]] had ..., but has ..."
  const std::vector<std::string>& changes() const { return changes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> changes_;
  std::unique_ptr<store::Lock> lock_;
};

}  // namespace evenkeel::study
