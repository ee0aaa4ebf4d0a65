// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/data/stop_wanted.h"

namespace evenkeel::data {

/// The right to write a folder of the token cache: a lock on the file TARGET.lock, so that the
/// ranks of a machine, or two runs, do not encode one text at once. The kernel releases the lock at
/// the end of the process. Where files cannot be locked, every process gets the right.
class CacheLock {
 public:
  /// Waits while another process has the right, and prints that once.
  /// \param stop  asked ten times a second; may be empty
  /// \throws Error (stopped, exit code 130) where `stop` is true
  CacheLock(const std::filesystem::path& target, const StopWanted& stop);
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;
  CacheLock(CacheLock&&) = delete;
  CacheLock& operator=(CacheLock&&) = delete;
  /// Removes the file.
  ~CacheLock();

 private:
  bool open_file();
  bool lock_file(const StopWanted& stop);
  bool has_name() const;
  void close_file();

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace evenkeel::data
