// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/progress_table.h"

#include <unistd.h>

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/study/runs/clock.h"

namespace evenkeel::study {

namespace {

constexpr double kBetweenLines = 30;  // seconds, where there is no terminal

std::string left_text(double seconds) {
  return std::isfinite(seconds) ? duration_text(seconds) : "–";
}

/// \param width  of the names
std::string row_line(const ProgressRow& row, std::size_t width) {
  constexpr int kDigits = 4;
  auto name = row.name;
  name.resize(width, ' ');
  const auto steps = text(row.step, '/', row.steps);
  return text("  ", name, "  step ", steps, "  loss ",
              std::isfinite(row.loss) ? with_digits(row.loss, kDigits) : "–", "  left ",
              left_text(row.seconds_left));
}

}  // namespace

std::string progress_line(const Progress& progress) {
  auto line = text(progress.done, " of ", progress.total, " runs done");
  if (progress.failed > 0) line += text(", ", progress.failed, " of them failed");
  if (progress.running > 0) line += text(", ", progress.running, " in work");
  return progress.done == progress.total ? line
                                         : line + ", left " + left_text(progress.seconds_left);
}

ProgressTable::ProgressTable(bool quiet)
    : quiet_(quiet), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressTable::info(const std::string& line) {
  if (quiet_) return;
  warn(line);
}

void ProgressTable::warn(const std::string& line) {
  clear();
  print_message(line);
}

void ProgressTable::show(const std::vector<ProgressRow>& rows, const Progress& progress) {
  last_progress_ = progress;
  if (quiet_) return;
  if (!is_terminal_) {
    const bool is_due = seconds_now() - last_line_time_ >= kBetweenLines;
    if (last_line_time_ != 0 && is_due) print_message(progress_line(progress));
    if (last_line_time_ == 0 || is_due) last_line_time_ = seconds_now();
    return;
  }
  clear();
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.name.size());
  for (const auto& row : rows) print_message(row_line(row, width));
  print_message("  " + progress_line(progress));
  drawn_lines_ = rows.size() + 1;
}

void ProgressTable::clear() {
  if (drawn_lines_ > 0) erase_lines(drawn_lines_);
  drawn_lines_ = 0;
}

}  // namespace evenkeel::study
