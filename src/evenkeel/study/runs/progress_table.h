// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A run that is training now: one row of the table.
struct ProgressRow {
  std::string name;
  std::int64_t step = 0, steps = 0;
  double loss = 0;          // NaN: none yet
  double seconds_left = 0;  // NaN: not known yet
};

/// How far the whole study is.
struct Progress {
  std::size_t done = 0, total = 0, failed = 0, running = 0;
  double seconds_left = 0;  // NaN: not known yet
};

/// What the user sees while a study runs: on a terminal one table that is drawn anew, else a line
/// now and then. Goes to standard error; standard output stays for results.
class ProgressTable {
 public:
  explicit ProgressTable(bool quiet);

  /// A line that stays.
  void info(const std::string& line);
  /// The same, also when quiet: trouble.
  void warn(const std::string& line);
  void show(const std::vector<ProgressRow>& rows, const Progress& progress);
  /// Takes the table away.
  void clear();

 private:
  bool quiet_, is_terminal_;
  std::size_t drawn_lines_ = 0;  // lines of the table
  double last_line_time_ = 0;    // when the last line now and then was
};

/// "12 of 36 runs done, 1 of them failed, 2 in work, left 3:20"
std::string progress_line(const Progress& progress);

}  // namespace evenkeel::study
