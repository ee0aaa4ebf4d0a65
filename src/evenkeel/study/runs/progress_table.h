// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::study {

/// One row of the table: a run that is training now.
struct ProgressRow {
  std::string name;
  std::int64_t step = 0, steps = 0;
  double loss = 0;          // NaN: none yet
  double seconds_left = 0;  // NaN: unknown
};

/// The progress of a whole study, in runs.
struct Progress {
  std::size_t done = 0, total = 0, failed = 0, running = 0;
  double seconds_left = 0;  // NaN: unknown
};

/// Progress output of a study on standard error: on a terminal one table that is redrawn, else an
/// occasional line.
class ProgressTable {
 public:
  explicit ProgressTable(bool quiet);

  /// Prints a permanent line, unless quiet.
  void info(const std::string& line);
  /// Prints a permanent line, also if quiet.
  void warn(const std::string& line);
  void show(const std::vector<ProgressRow>& rows, const Progress& progress);
  /// Removes the table from the terminal.
  void clear();

  /// What show() got last, also if quiet.
  const Progress& last_progress() const { return last_progress_; }

 private:
  bool quiet_, is_terminal_;
  std::size_t drawn_lines_ = 0;  // lines of the table
  double last_line_time_ = 0;    // time of the last occasional line
  Progress last_progress_;
};

/// "12 of 36 runs done, 1 of them failed, 2 in work, left 3:20"
std::string progress_line(const Progress& progress);

}  // namespace evenkeel::study
