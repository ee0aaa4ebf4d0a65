// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace evenkeel::train {

/// The values of the progress line.
struct ProgressLine {
  std::int64_t step = 0, steps = 0;
  double loss = 0;
  std::optional<double> gap;  // of the last evaluation, nats a byte
  double rate = 0, gradient_norm = 0;
  double tokens_per_second = 0, seconds_left = 0;
};

/// The lines of `train`: on a terminal one that is rewritten, else plain ones. Everything goes to
/// standard error; standard output stays for results.
class Console {
 public:
  explicit Console(bool quiet);

  /// Appends every permanent line to this file, earlier ones too, even when quiet. What cannot
  /// be written there is lost: the records are what counts.
  void log_to(const std::filesystem::path& file);

  /// A permanent line.
  void info(const std::string& line);
  /// A permanent line that is printed even when quiet.
  void warn(const std::string& line);
  bool is_terminal() const { return terminal_; }
  /// The progress line; without a terminal, a line each time `permanent` is true.
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
