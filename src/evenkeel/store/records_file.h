// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "evenkeel/base/digest.h"
#include "evenkeel/store/append_file.h"
#include "evenkeel/store/step_ranges.h"

namespace evenkeel::store {

/// A file of JSON lines in a run folder, whose records have a step: metrics.jsonl, probes.jsonl,
/// health.jsonl. A checkpoint contains size and digest of each of them, so a resume detects records
/// that were lost or changed.
class RecordsFile {
 public:
  RecordsFile(const Directory& run, const std::string& name);

  /// Appends a record. If the disk is full, the record is held in memory, and a later call writes
  /// it.
  /// \throws FullDisk, Error (io, exit code 74)
  void append(const nlohmann::ordered_json& record);

  /// Makes all records so far durable.
  /// \throws FullDisk, Error (io)
  void flush() { file_.flush(); }

  /// Size, digest and steps of all records so far: an entry of MANIFEST.json. `steps` is
  /// StepRanges::json().
  nlohmann::json summary() const;

  /// Prepares the file for a run that resumes from a checkpoint. Removes the records of later steps
  /// and an incomplete last line; moves damaged lines to NAME.damaged. Does nothing if the file
  /// does not exist.
  /// \param step   step of the checkpoint
  /// \param saved  summary() of the checkpoint; null or another value: unknown
  /// \return what was lost, as a sentence; "" if nothing was
  /// \throws Error (io)
  std::string resume(std::int64_t step, const nlohmann::json& saved);

 private:
  void take(const std::string& lines);

  Directory run_;
  std::string name_;
  AppendFile file_;
  std::unique_ptr<Digest> digest_ = std::make_unique<Digest>();
  std::uint64_t size_ = 0;
  StepRanges steps_;
};

}  // namespace evenkeel::store
