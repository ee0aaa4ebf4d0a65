// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "evenkeel/comm/group.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::train {

/// Saves checkpoints on all ranks: each one writes, flushes and digests the pieces of its shards;
/// rank 0 makes the folder, writes MANIFEST.json, and gives the folder its final name. If one rank
/// fails, no checkpoint is made, and rank 0 throws.
///
/// A save has two parts. begin() makes the folder; finish() returns when the checkpoint is durable.
/// Between the two the files may be written by a thread, from a copy of the tensors.
class CheckpointSaver {
 public:
  /// Who writes the files of this rank.
  enum class Writer { caller, thread };

  /// \param group  must outlive the CheckpointSaver
  explicit CheckpointSaver(comm::Group& group);
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;
  /// Waits for the writer. An unfinished checkpoint is removed.
  ~CheckpointSaver();

  /// Rank 0: begins a save. Each other rank calls begin_piece() with the same `writer`.
  /// \param content  with the pieces of this rank; with Writer::caller it must stay until finish()
  /// \throws FullDisk (io, exit code 74) or Error (io) if the folder cannot be made; finish() must
  ///         not be called then
  void begin(const store::Lock& lock, const store::CheckpointContent& content, std::int64_t keep,
             Writer writer);

  /// A rank other than 0: begins to write its pieces. A failure is for rank 0 to report. Nothing is
  /// pending afterwards if rank 0 could not make the folder.
  void begin_piece(const store::CheckpointContent& content, Writer writer);

  /// True between begin() and finish().
  bool is_pending() const { return pending_ != nullptr; }
  /// True unless the thread of this rank still writes.
  bool is_written() const;

  /// Completes the checkpoint. All ranks call it.
  /// \throws at rank 0 FullDisk (io, exit code 74) if the disk was full for any rank; Error (io)
  /// \return as store::save_checkpoint(); "" on ranks other than 0
  std::string finish();

  /// Rank 0: begin() and finish(). Each other rank calls begin_piece(), and finish() if a save is
  /// pending then.
  /// \throws as begin() and finish()
  std::string save(const store::Lock& lock, const store::CheckpointContent& content,
                   std::int64_t keep);

 private:
  struct Pending;
  std::unique_ptr<Pending> prepare(const store::CheckpointContent& content, Writer writer);
  void start(std::unique_ptr<Pending> pending, const std::string& folder, Writer writer);

  comm::Group& group_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace evenkeel::train
