// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

/// Records of a run: files with one JSON object a line (JSON Lines).
namespace evenkeel::store {

/// A file of JSON lines that is only ever appended to; numbers in shortest round-trip form.
class JsonLinesFile {
 public:
  /// The file is created by the first append().
  explicit JsonLinesFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Appends one line and hands it to the kernel in one piece; NaN and infinity become null. If not
  /// all of it fits on the disk, none of it stays.
  /// \throws Error (io)
  void append(const nlohmann::ordered_json& record);

  /// Removes lines whose "step" is greater than `step`, and a torn last line: a run that is resumed
  /// from a checkpoint of `step` writes them again. Nothing if the file is missing.
  /// \throws Error (io)
  void truncate_after(std::int64_t step);

 private:
  std::filesystem::path file_;
};

/// All lines of a file that are whole objects: a line torn by a crash is left out. None if the file
/// is missing.
/// \throws Error (io) if it cannot be read
std::vector<nlohmann::json> read_json_lines(const std::filesystem::path& file);

}  // namespace evenkeel::store
