// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace evenkeel::store {

/// Exclusive ownership of a run folder for the lifetime of this object: a lock on RUN/lock. The
/// kernel releases the lock at the end of the process, also after a crash. The file contains the
/// owner's process id.
class Lock {
 public:
  /// \throws Error (busy, exit code 75), with the owner's process id, if another process has the
  ///         lock; Error (io, 74) if the file cannot be opened or written
  explicit Lock(const std::filesystem::path& run);
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  int descriptor_ = -1;
};

/// True if a process has the run's lock; false if the folder or RUN/lock does not exist.
bool is_locked(const std::filesystem::path& run);

}  // namespace evenkeel::store
