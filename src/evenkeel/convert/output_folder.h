// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/store/directory.h"

namespace evenkeel::convert {

/// A folder that appears under its name when all its files are complete and durable. Until then it
/// is NAME.new-MARK in the same folder, with the mark of data::new_writer_mark().
class OutputFolder {
 public:
  /// \param path       the folder; its parent is created if it is missing
  /// \param overwrite  replaces an older folder that has the file `mark`
  /// \param mark       a file that every such folder has: "evenkeel.json"
  /// \param stop       true when a signal wants the program to stop; may be empty
  /// \throws Error (usage, exit code 64) if the path exists and may not be replaced; (io, 74)
  OutputFolder(std::filesystem::path path, bool overwrite, std::string mark,
               std::function<bool()> stop);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  OutputFolder(OutputFolder&&) = delete;
  OutputFolder& operator=(OutputFolder&&) = delete;
  /// Removes a folder that is not finished.
  ~OutputFolder();

  /// The folder while it is not complete.
  const store::Directory& folder() const { return *folder_; }

  /// Writes a small file.
  void write(const std::string& name, std::string_view content) const;

  /// \throws Error (stopped, exit code 130) when a signal wants the program to stop
  void check_stop() const;

  /// Gives the folder its name. An older one is removed.
  void finish();

 private:
  void check_replaceable() const;
  void remove_leftovers() const;

  std::filesystem::path path_;
  std::string mark_, name_, temporary_;
  bool overwrite_;
  std::function<bool()> stop_;
  std::optional<store::Directory> parent_, folder_;
};

}  // namespace evenkeel::convert
