// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace evenkeel::store {

/// Owns a run folder while it lives: an exclusive lock on RUN/lock, released by the kernel when the
/// process ends, however it ends. The file holds the process id of the owner.
class Lock {
 public:
  /// \throws Error (busy) with the owner's process id if another process holds it; Error (io) if
  /// the
  ///         file cannot be opened or written
  explicit Lock(const std::filesystem::path& run);
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock(Lock&&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  int descriptor_ = -1;
};

/// True while some process holds the run's lock; false if the folder or the file is missing.
bool is_locked(const std::filesystem::path& run);

}  // namespace evenkeel::store
