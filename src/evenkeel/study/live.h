// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A run in work, as the table shows it.
struct Row {
  std::string name;
  std::int64_t step = 0, steps = 0;
  double loss = 0;          // NaN: none yet
  double seconds_left = 0;  // NaN: not known yet
};

/// How far all is.
struct Sum {
  std::size_t done = 0, all = 0, failed = 0, working = 0;
  double seconds_left = 0;  // NaN: not known yet
};

/// What the user sees while a study runs: on a terminal one table that is drawn anew, else a line
/// now and then. Goes to standard error; standard output stays for results.
class Live {
 public:
  explicit Live(bool quiet);

  /// A line that stays.
  void say(const std::string& line);
  /// The same, also when quiet: trouble.
  void warn(const std::string& line);
  void show(const std::vector<Row>& rows, const Sum& sum);
  /// Takes the table away.
  void clear();

 private:
  bool quiet_, terminal_;
  std::size_t drawn_ = 0;  // lines of the table
  double told_ = 0;        // when the last line now and then was
};

/// "12 of 36 runs done, 1 of them failed, 2 in work, left 3:20"
std::string line_of(const Sum& sum);

}  // namespace evenkeel::study
