// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// The files of tensors of a checkpoint that one process writes.
class CheckpointFiles {
 public:
  /// Builds the headers of all files.
  explicit CheckpointFiles(const CheckpointContent& content);
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;
  ~CheckpointFiles();

  /// The size of all files in bytes.
  std::uint64_t size() const;

  /// Writes the files durably, except their names.
  /// \return the entry "files" of the manifest, for these files
  /// \throws FullDisk (io, exit code 74); Error (io)
  nlohmann::json write(const Directory& folder) const;

 private:
  struct File;
  std::vector<File> files_;
  TensorContent content_;
};

/// A checkpoint that is being written: a folder without its final name. One process has it, and any
/// number of processes write files into the folder. Its destructor removes a folder that was not
/// completed.
class PendingCheckpoint {
 public:
  /// Removes what interrupted saves left, checks the free space, and makes the folder.
  /// \param lock  of the run folder; must outlive the PendingCheckpoint
  /// \param state  state.json
  /// \param size  bytes of all files of tensors
  /// \throws FullDisk (io, exit code 74); Error (io)
  PendingCheckpoint(const SystemCalls& system, const Lock& lock, std::int64_t step,
                    const nlohmann::json& state, std::uint64_t size);
  PendingCheckpoint(const PendingCheckpoint&) = delete;
  PendingCheckpoint& operator=(const PendingCheckpoint&) = delete;
  ~PendingCheckpoint();

  /// The folder that the files are written into.
  const Directory& folder() const { return *folder_; }

  /// Writes state.json and MANIFEST.json, gives the folder its final name, and removes old
  /// checkpoints. After the return the checkpoint survives power loss.
  /// \param files  the results of CheckpointFiles::write() of all processes, merged
  /// \param manifest  CheckpointContent::manifest
  /// \return "", or why an old checkpoint could not be removed
  /// \throws FullDisk (io, exit code 74); Error (io)
  std::string complete(nlohmann::json files, const nlohmann::json& manifest, std::int64_t keep);

 private:
  Directory checkpoints_;
  std::int64_t step_;
  std::string state_, temporary_;
  std::optional<Directory> folder_;
  bool is_complete_ = false;
};

/// save_checkpoint() with replaceable system calls. Internal, for tests.
std::string save_checkpoint(const SystemCalls& system, const Lock& lock,
                            const CheckpointContent& content, std::int64_t keep);

inline constexpr const char* kCheckpointsName = "checkpoints";

/// The steps of all entries of RUN/checkpoints that have a checkpoint's name, in ascending order.
std::vector<std::int64_t> listed_steps(const Directory& checkpoints);

}  // namespace evenkeel::store
