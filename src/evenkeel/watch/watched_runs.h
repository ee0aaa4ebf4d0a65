// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/watch/run_cache.h"

namespace evenkeel::watch {

/// The runs that `watch` shows: run folders, and all runs in folders of runs and their subfolders,
/// as `evenkeel runs` lists them, also those that begin later. Several threads may call the
/// functions at once.
class WatchedRuns {
 public:
  static constexpr std::size_t kMostCompared = 40;

  /// \param places  run folders and folders of runs
  /// \throws Error (data, exit code 65) for a place that is no folder
  explicit WatchedRuns(std::vector<std::filesystem::path> places);

  /// A text that changes when a file of a run changes, its process ends, or a run comes or goes.
  std::string signature() const;

  /// The page of a path: "/" is the page of the only run, or the table of all; "/compare" compares
  /// all, or the kMostCompared that changed last; "/run/1b4e28ba/" is the page of a run. A path
  /// never becomes part of a file name.
  /// \return nullopt if there is no such page
  std::optional<std::string> page(const std::string& path) const;

 private:
  std::vector<std::filesystem::path> folders() const;

  /// The run of a folder; nullptr while its files do not exist yet, or are gone.
  std::shared_ptr<const report::Run> read(const std::filesystem::path& folder) const;
  std::string table_of(const std::vector<std::filesystem::path>& folders) const;
  std::string comparison_of(const std::vector<std::filesystem::path>& folders) const;

  std::vector<std::filesystem::path> places_;
  std::shared_ptr<RunCache> cache_ = std::make_shared<RunCache>();  // by all copies
};

}  // namespace evenkeel::watch
