// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/store/append_file.h"

namespace evenkeel::train {

/// The content of a run's progress line.
struct ProgressLine {
  std::int64_t step = 0, steps = 0;  // steps so far, and steps of the whole run
  double loss = 0;                   // training loss, nats per token
  std::optional<double> loss_z;      // its ZScore
  std::optional<double> val_loss;    // last validation loss, nats per token
  std::optional<double> gap;         // last validation loss - entropy of the text, nats per byte
  double rate = 0;                   // learning rate
  double gradient_norm = 0;          // L2, before clipping
  std::optional<double> gradient_z;  // its ZScore
  double tokens_per_second = 0;      // of the last step
  double seconds_left = 0;           // estimated time of the remaining steps
};

/// Prints the messages of `train` to standard error; standard output is for results. On a terminal
/// the progress line is overwritten in place. Elsewhere each progress line is a line of its own.
class Console {
 public:
  /// \param quiet  print warnings only
  explicit Console(bool quiet);

  /// Also appends every permanent line to the file `name` of a folder, even when quiet: first the
  /// lines so far, then each new one. A line that cannot be written, for example on a full disk, is
  /// written together with a later one.
  void log_to(const store::Directory& folder, const std::string& name);

  /// Prints a permanent line.
  void info(const std::string& line);
  /// Prints a permanent line, even when quiet.
  void warn(const std::string& line);

  /// True if standard error is a terminal.
  bool is_terminal() const { return terminal_; }

  /// Shows the progress line. A permanent progress line also goes to the log file. Without a
  /// terminal, only permanent progress lines are printed.
  void show_progress(const ProgressLine& progress_line, bool permanent);

  /// Shows what the run does between two steps, at most five times a second, as a line that the
  /// next one overwrites. Only on a terminal.
  void show_activity(const std::string& line);

 private:
  void clear();
  void log(const std::string& line);
  void append_to_log(const std::string& lines);
  void print(const std::string& line);

  bool quiet_, terminal_;
  std::string unlogged_;  // lines before log_to()
  std::optional<store::AppendFile> log_;
  std::chrono::steady_clock::time_point shown_;  // the last activity
  bool has_open_line_ = false;  // the last printed line is a progress line without a line feed
};

/// "step 120/400 (30 %, 0:42 left)  loss 1.234 (+0.3z)  val 1.301  gap 0.310  |g| 0.52 (-0.1z)
/// lr 2.9e-03  18.2k tok/s"; z is a ZScore. What is unknown is left out.
std::string line_of(const ProgressLine& progress_line);

}  // namespace evenkeel::train
