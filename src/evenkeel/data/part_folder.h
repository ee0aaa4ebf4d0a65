// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::data {

/// A folder that is being written, next to its final name:
///
///     TARGET.part-HOST-NAMESPACE-START-PROCESS-RANDOM
///
/// HOST is the name of the machine, NAMESPACE the number of the process namespace (containers of
/// one machine have equal process numbers in different namespaces), START the boot id of the kernel
/// (machines may have equal names). Processes of several machines may write
/// the same target at once: each has a folder of its own.
class PartFolder {
 public:
  /// Chooses the name; the caller makes the folder.
  explicit PartFolder(const std::filesystem::path& target);
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  PartFolder(PartFolder&&) = delete;
  PartFolder& operator=(PartFolder&&) = delete;
  /// Removes the folder, if it still has this name.
  ~PartFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A mark of this process in the name of a folder that it writes:
/// "HOST-NAMESPACE-START-PROCESS-RANDOM".
std::string new_writer_mark();

/// True if the process of a new_writer_mark() ran on this machine, in this namespace and since this
/// start, and has ended. A mark with the number of this process is that of an earlier one, for
/// example in a container that was started again. False for another text.
bool has_writer_ended(const std::string& mark);

/// Removes the folders that killed processes left of a target: those of this HOST, NAMESPACE and
/// START whose process has ended, and all in which nothing has changed for a day. Call it before
/// this process makes a PartFolder of the target.
void remove_leftovers(const std::filesystem::path& target);

}  // namespace evenkeel::data
