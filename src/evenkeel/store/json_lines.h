// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

/// Records of a run: JSON Lines files, with one JSON object per line.
namespace evenkeel::store {

/// An append-only file of JSON lines. Numbers are written in their shortest round-trip form.
class JsonLinesFile {
 public:
  /// The first append() creates the file.
  explicit JsonLinesFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Appends one line with a single write(); NaN and infinity are written as null. If the disk is
  /// full, no part of the line remains.
  /// \throws Error (io, exit code 74)
  void append(const nlohmann::ordered_json& record);

  /// Removes all lines with "step" > `step`, and an incomplete last line. A run that resumes from
  /// the checkpoint of `step` writes them again. Does nothing if the file does not exist.
  /// \throws Error (io, exit code 74)
  void truncate_after(std::int64_t step);

 private:
  std::filesystem::path file_;
};

/// All lines that are complete JSON objects; a line that a crash cut off is skipped. Empty if the
/// file does not exist.
/// \throws Error (io, exit code 74) if the file cannot be read
std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& file);

}  // namespace evenkeel::store
