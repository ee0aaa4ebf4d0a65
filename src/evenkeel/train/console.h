// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace evenkeel::train {

/// The values of the progress line of a run.
struct ProgressLine {
  std::int64_t step = 0, steps = 0;  // taken, and to take
  double loss = 0;                   // training loss, nats a token
  std::optional<double> gap;         // loss above the text's entropy, nats a byte; last evaluation
  double rate = 0;                   // learning rate
  double gradient_norm = 0;          // L2, before clipping
  double tokens_per_second = 0;      // of this step
  double seconds_left = 0;           // estimate for the remaining steps
};

/// Prints the lines of `train` to standard error; standard output is for results. On a terminal the
/// progress line is rewritten in place, elsewhere it is a line like any other.
class Console {
 public:
  /// \param quiet  print warnings only
  explicit Console(bool quiet);

  /// Appends every permanent line to this file, earlier lines included, even when quiet. A line
  /// that cannot be written is lost without an error.
  void log_to(const std::filesystem::path& file);

  /// Prints a permanent line.
  void info(const std::string& line);
  /// Prints a permanent line, even when quiet.
  void warn(const std::string& line);

  /// Whether standard error is a terminal.
  bool is_terminal() const { return terminal_; }

  /// Shows the progress line. A permanent one also goes to the log file; without a terminal, only
  /// permanent ones are printed.
  void show_progress(const ProgressLine& progress_line, bool permanent);

 private:
  void clear();
  void log(const std::string& line);
  void print(const std::string& line);

  bool quiet_, terminal_;
  std::string unlogged_;  // lines before log_to()
  std::ofstream log_;
  bool has_open_line_ = false;  // the last line printed is a progress line without a line feed
};

/// "step 120/400  loss 1.234  gap 0.310  lr 2.9e-03  |g| 0.52  18.2k tok/s  left 0:42"
std::string line_of(const ProgressLine& progress_line);

}  // namespace evenkeel::train
