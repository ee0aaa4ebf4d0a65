// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::watch {

/// Run folders as they were read last. A folder is read again when its signature changes. Several
/// threads may call the functions at once.
class RunCache {
 public:
  /// The run of a folder; nullptr while its files do not exist yet, or are gone.
  /// \param signature  of signature_of(), from before this call
  std::shared_ptr<const report::Run> read(const std::filesystem::path& folder,
                                          const std::string& signature);

  /// Drops all other folders.
  void retain(const std::vector<std::filesystem::path>& folders);

 private:
  struct Entry {
    std::string signature;
    std::shared_ptr<const report::Run> run;
  };
  std::mutex mutex_;  // also held while a folder is read: other threads want the same run
  std::map<std::filesystem::path, Entry> entries_;
};

/// A text that changes when a file of a run folder changes, or its lock is taken or released.
std::string signature_of(const std::filesystem::path& folder);

}  // namespace evenkeel::watch
