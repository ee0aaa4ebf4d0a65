// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/live.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/clock.h"

namespace evenkeel::study {

namespace {

constexpr double kBetweenLines = 30;  // seconds, where there is no terminal

std::string left_text(double seconds) {
  return std::isfinite(seconds) ? duration_text(seconds) : "–";
}

/// \param width  of the names
std::string line_of(const Row& row, std::size_t width) {
  constexpr int kDigits = 4;
  auto name = row.name;
  name.resize(width, ' ');
  const auto steps = text(row.step, '/', row.steps);
  return text("  ", name, "  step ", steps, "  loss ",
              std::isfinite(row.loss) ? with_digits(row.loss, kDigits) : "–", "  left ",
              left_text(row.seconds_left));
}

}  // namespace

std::string line_of(const Sum& sum) {
  auto line = text(sum.done, " of ", sum.all, " runs done");
  if (sum.failed > 0) line += text(", ", sum.failed, " of them failed");
  if (sum.working > 0) line += text(", ", sum.working, " in work");
  return sum.done == sum.all ? line : line + ", left " + left_text(sum.seconds_left);
}

Live::Live(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

void Live::say(const std::string& line) {
  if (quiet_) return;
  warn(line);
}

void Live::warn(const std::string& line) {
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Live::show(const std::vector<Row>& rows, const Sum& sum) {
  if (quiet_) return;
  if (!terminal_) {
    const bool is_time = seconds_now() - told_ >= kBetweenLines;
    if (told_ != 0 && is_time) std::fprintf(stderr, "%s\n", line_of(sum).c_str());
    if (told_ == 0 || is_time) told_ = seconds_now();
    return;
  }
  clear();
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.name.size());
  for (const auto& row : rows) std::fprintf(stderr, "%s\n", line_of(row, width).c_str());
  std::fprintf(stderr, "  %s\n", line_of(sum).c_str());
  drawn_ = rows.size() + 1;
}

void Live::clear() {
  if (drawn_ > 0) std::fprintf(stderr, "\033[%zuA\033[J", drawn_);
  drawn_ = 0;
}

}  // namespace evenkeel::study
