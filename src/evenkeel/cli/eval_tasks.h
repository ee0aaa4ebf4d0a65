// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/evaluate/task_suite.h"

namespace evenkeel::cli {

/// The rows that are scored so far, rows per second and the time left, on standard error.
class RowProgress {
 public:
  /// \param is_shown  false: no output; else only on a terminal
  RowProgress(std::int64_t rows, bool is_shown);

  void show(std::int64_t done);
  /// Removes the line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t rows_;
  bool is_shown_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_;
};

/// A table of results: a line per task with its headline metric, standard error, chance level, bits
/// per byte of the gold choices and documents; under it the values of tags, and notes on rows that
/// were truncated and on ties.
std::string task_table(const std::vector<evaluate::TaskResult>& results);

/// Writes JSON lines to `file`, and replaces an older one.
/// \throws Error (io, exit code 74)
void write_lines(const std::filesystem::path& file,
                 const std::vector<nlohmann::ordered_json>& lines);

/// Appends the results to evaluations.jsonl of the run and rewrites its report. A run that trains
/// at the same time has the lock: then nothing is recorded, and the return value says so.
/// \return "" or a sentence
/// \throws Error (io, exit code 74)
std::string record_in_run(const std::filesystem::path& run,
                          const std::vector<nlohmann::ordered_json>& lines);

}  // namespace evenkeel::cli
