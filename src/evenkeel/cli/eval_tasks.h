// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/data/new_file.h"
#include "evenkeel/evaluate/task_suite.h"

namespace evenkeel::cli {

/// The rows of tasks or windows of a text that are scored so far, rows per second and the time
/// left, on standard error.
class RowProgress {
 public:
  /// \param is_shown  false: no output; else only on a terminal
  /// \param unit  "rows", "windows"
  RowProgress(std::int64_t rows, const char* unit, bool is_shown);

  void show(std::int64_t done);
  /// Removes the line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t rows_;
  const char* unit_;
  bool is_shown_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_;
};

/// A table of results: a line per task with its headline metric, standard error, chance level, bits
/// per byte of the gold choices and documents; under it the values of tags, and notes on rows that
/// were truncated and on ties.
std::string task_table(const std::vector<evaluate::TaskResult>& results);

/// Prints the names that --task takes: each group and label with its metric.
/// \param as_json  an array of objects instead of a table
void list_tasks(bool as_json);

/// A file of JSON lines that a user named. It appears under its name when it is complete, and
/// replaces an older one.
class LinesFile {
 public:
  /// \throws Error (io, exit code 74), as all functions of this class do
  explicit LinesFile(const std::filesystem::path& file) : file_(file) {}

  void append(const std::vector<nlohmann::ordered_json>& lines);
  void finish() { file_.finish(); }

 private:
  data::NewFile file_;
};

/// Refuses a file of rows without a task, and one that is a task's own.
/// \throws Error (usage)
void check_rows_file(const std::filesystem::path& rows, const evaluate::TaskSuite& suite);

/// Appends the results to evaluations.jsonl of the run and rewrites its report. A run that trains
/// at the same time has the lock: then nothing is recorded. The same holds for a folder that cannot
/// be written.
/// \return "", or a sentence that says why nothing was recorded
std::string record_in_run(const std::filesystem::path& run,
                          const std::vector<nlohmann::ordered_json>& lines);

}  // namespace evenkeel::cli
