// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/store/append_file.h"
#include "evenkeel/store/directory.h"

/// JSON Lines files, with one JSON object per line.
namespace evenkeel::store {

/// The line of a record, with its line feed. Numbers have their shortest round-trip form; NaN and
/// infinity are written as null.
std::string json_line(const nlohmann::ordered_json& record);

/// An append-only file of JSON lines.
class JsonLinesFile {
 public:
  /// A file that the user named. The first append() creates it.
  explicit JsonLinesFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// The file `name` of a folder. A symbolic link is an error.
  JsonLinesFile(Directory folder, std::string name) : file_(std::move(folder), std::move(name)) {}

  /// Appends one line. If the disk is full, no part of the line remains.
  /// \throws FullDisk, Error (io, exit code 74)
  void append(const nlohmann::ordered_json& record) { file_.append(json_line(record)); }

 private:
  AppendFile file_;
};

/// The content of a file of JSON lines.
struct JsonLines {
  std::vector<nlohmann::json> records;
  std::vector<std::string> damaged;  // complete lines that are no valid record
};

/// True if a record of a run has its step: a number from 0 to 2^53.
bool has_step(const nlohmann::json& record);

/// All lines of a text. A last line without a line feed is ignored: a crash cut it off.
/// \param is_record  whether a JSON object is a valid record
JsonLines parse_json_lines(std::string_view content, bool (*is_record)(const nlohmann::json&));

/// All records of a file that the user named; damaged lines are counted only. Empty if the file
/// does not exist.
/// \throws Error (io, exit code 74) if the file cannot be read
JsonLines read_json_lines(const std::filesystem::path& file);

/// All records of the file `name` of a run folder; each record has_step(). Empty if the file does
/// not exist.
/// \throws Error (io, exit code 74) if the file cannot be read, or is a symbolic link
JsonLines read_records(const Directory& run, const std::string& name);

}  // namespace evenkeel::store
