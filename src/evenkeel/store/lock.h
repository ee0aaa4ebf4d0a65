// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/store/directory.h"

namespace evenkeel::store {

/// Exclusive ownership of a run folder for the lifetime of this object: a lock on RUN/lock, and the
/// folder itself, held open. The kernel releases the lock at the end of the process, also after a
/// crash. The file contains the owner's process id.
class Lock {
 public:
  /// \param system  must outlive the Lock
  /// \throws Error (busy, exit code 75), with the owner's process id, if another process has the
  ///         lock; Error (io, 74) if the file cannot be opened or written
  explicit Lock(const std::filesystem::path& run, const SystemCalls& system = kernel_calls());
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

  /// The locked folder, also after it was moved.
  const Directory& directory() const { return directory_; }

  /// True if RUN/lock of the held folder is still the locked file. Otherwise another process may
  /// have locked a new file of this name.
  /// \throws Error (io, exit code 74) if the file cannot be examined
  bool is_held() const;

  /// \throws Error (io, exit code 74) unless is_held()
  void check_file() const;

  /// check_file(), and checks that the path still names the held folder. Otherwise another process
  /// may have started a run at this path.
  /// \throws Error (io, exit code 74), with the new path of a moved folder
  void check_path() const;

  /// Removes RUN/lock, unless another file took its name. Only for a folder in which no run
  /// started: a process that waits for this lock then locks a new file.
  void remove_file() const;

 private:
  Directory directory_;
  int descriptor_ = -1;
};

/// True if a process has the run's lock; false if the folder or RUN/lock does not exist.
/// \throws Error (busy, exit code 75) if the process has no free file descriptor or memory
bool is_locked(const std::filesystem::path& run);

}  // namespace evenkeel::store
