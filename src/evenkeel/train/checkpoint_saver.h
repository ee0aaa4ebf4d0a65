// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/comm/group.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::train {

/// Saves checkpoints on all ranks: each one writes, flushes and digests the pieces of its shards;
/// rank 0 makes the folder, writes MANIFEST.json, and gives the folder its final name. If one rank
/// fails, no checkpoint is made, and rank 0 throws. One rank saves as store::save_checkpoint() does.
class CheckpointSaver {
 public:
  /// \param group  must outlive the CheckpointSaver
  explicit CheckpointSaver(comm::Group& group) : group_(group) {}

  /// Rank 0. Each other rank calls help().
  /// \param content  with the pieces of this rank
  /// \throws FullDisk (io, exit code 74) if the disk is full for any rank; Error (io)
  void save(const store::Lock& lock, const store::CheckpointContent& content, std::int64_t keep);

  /// A rank other than 0: writes its pieces. A failure is for rank 0 to report.
  /// \param content  its pieces
  void help(const store::CheckpointContent& content);

 private:
  comm::Group& group_;
};

}  // namespace evenkeel::train
