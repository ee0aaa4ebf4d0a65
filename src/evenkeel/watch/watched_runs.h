// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::watch {

/// The runs that `watch` shows: run folders, and all runs of folders of runs, also those that begin
/// later. Several threads may call the functions at once.
class WatchedRuns {
 public:
  /// \param places  run folders and folders of runs
  /// \throws Error (data, exit code 65) for a place that is no folder
  explicit WatchedRuns(std::vector<std::filesystem::path> places);

  /// A text that changes when a record of a run changes, or a run comes or goes.
  std::string signature() const;

  /// The page of a path: "/" is the page of the only run, or the table of all; "/compare" compares
  /// all; "/run/1b4e28ba/" is the page of a run. A path never becomes part of a file name.
  /// \return nullopt if there is no such page
  std::optional<std::string> page(const std::string& path) const;

 private:
  std::vector<std::filesystem::path> folders() const;

  std::vector<std::filesystem::path> places_;
};

}  // namespace evenkeel::watch
