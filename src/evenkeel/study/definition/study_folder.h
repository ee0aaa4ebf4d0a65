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
///   study.toml   the study file
///   study.json   the parts of file and command line that determine runs and claims
///   logs/        configuration and output of each process
///   report.html  report.md  runs.csv
class StudyFolder {
 public:
  /// Creates the folder, or resumes the study in it.
  /// \param allow_changes  true: the study may differ from study.json
  /// \throws Error (differs) with the difference; (usage) if the folder is no study folder; (busy)
  /// if
  ///         another process has locked it; (io)
  StudyFolder(const std::filesystem::path& folder, const Study& study, bool allow_changes);

  std::filesystem::path logs() const { return lock_->directory().path() / "logs"; }

  /// Replaces a file of the folder. A symbolic link of this name is replaced.
  /// \throws Error (io), also if the folder was moved or replaced
  void write(const std::string& name, const std::string& content) const;

  /// Changes with --override since the study was created: "[[claims]] had ..., but has ..."
  const std::vector<std::string>& changes() const { return changes_; }

 private:
  std::vector<std::string> changes_;
  std::unique_ptr<store::Lock> lock_;
};

}  // namespace evenkeel::study
