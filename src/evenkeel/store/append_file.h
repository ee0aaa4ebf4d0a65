// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/store/directory.h"

namespace evenkeel::store {

/// A text file that grows line by line. Text that cannot be written, for example on a full disk, is
/// held in memory (at most 16 MiB) and written before the text of a later call. No part of a line
/// is left in the file.
class AppendFile {
 public:
  /// The file `name` of a folder. The first append() creates it. A symbolic link is an error.
  AppendFile(Directory folder, std::string name);

  /// A file that the user named. Symbolic links are followed.
  explicit AppendFile(std::filesystem::path file);

  /// Appends complete lines.
  /// \throws FullDisk, Error (io, exit code 74); the text is then held in memory, unless that is
  ///         full
  void append(std::string_view lines);

  /// Writes the text that is held in memory, and makes the file durable (fsync). After a failed
  /// fsync the next call writes a new file: the kernel may have dropped the data. Does nothing if
  /// nothing was appended since the last call.
  /// \throws FullDisk, Error (io)
  void flush();

  /// The path, for messages.
  const std::filesystem::path& path() const { return path_; }

 private:
  const SystemCalls& system() const;
  int open() const;
  void write_held();
  int write_to(int file, off_t size);
  void replace();

  std::optional<Directory> folder_;
  std::string name_;
  std::filesystem::path path_;
  std::string held_;               // not written yet
  std::optional<off_t> whole_to_;  // size without the remains of a failed write
  bool has_changed_ = false;       // since the last flush()
  bool flush_failed_ = false;
};

}  // namespace evenkeel::store
