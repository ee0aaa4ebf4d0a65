// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"

namespace evenkeel::train {

namespace {

template <typename... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}

/// The part of a line that fits into one row of the terminal: a longer one could not be erased.
std::string cut_to_terminal(const std::string& line) {
  struct winsize window{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  return is_known ? line.substr(0, window.ws_col - 1U) : line;
}

}  // namespace

Console::Console(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

void Console::log_to(const store::Directory& folder, const std::string& name) {
  log_.emplace(folder, name);
  append_to_log(std::exchange(unlogged_, ""));
}

void Console::info(const std::string& line) {
  log(line);
  if (!quiet_) print(line);
}

void Console::warn(const std::string& line) {
  log(line);
  print(line);
}

void Console::log(const std::string& line) {
  if (log_) {
    append_to_log(printable_line(line) + "\n");
  } else {
    unlogged_ += printable_line(line) + "\n";
  }
}

void Console::append_to_log(const std::string& lines) {
  try {
    log_->append(lines);
  } catch (const Error&) {  // the log waits for space; the console has the lines
    return;
  }
}

void Console::print(const std::string& line) {
  clear();
  print_message(line);
}

void Console::show_progress(const ProgressLine& progress_line, bool permanent) {
  const auto line = line_of(progress_line);
  if (permanent) log(line);
  if (quiet_ || (!terminal_ && !permanent)) return;
  clear();
  terminal_ ? print_progress(cut_to_terminal(line)) : print_message(line);
  has_open_line_ = terminal_;
}

void Console::show_activity(const std::string& line) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || !terminal_ || now - shown_ < kPause) return;
  shown_ = now;
  clear();
  print_progress(cut_to_terminal(line));
  has_open_line_ = true;
}

void Console::clear() {
  if (has_open_line_) erase_progress();
  has_open_line_ = false;
}

std::string line_of(const ProgressLine& progress_line) {
  const auto& [step, steps, loss, loss_z, val_loss, gap, rate, norm, norm_z, speed, left] =
      progress_line;
  const double done = static_cast<double>(step) / static_cast<double>(std::max(steps, step));
  constexpr double kPercent = 100;
  auto line = printed("step %lld/%lld (%d %%, ", static_cast<long long>(step),
                      static_cast<long long>(steps), static_cast<int>(kPercent * done));
  line += duration_text(left) + " left)  loss " + with_decimals(loss, 3);
  if (loss_z) line += printed(" (%+.1fz)", *loss_z);
  if (val_loss) line += "  val " + with_decimals(*val_loss, 3);
  if (gap) line += "  gap " + with_decimals(*gap, 3);
  line += "  |g| " + with_decimals(norm, 2);
  if (norm_z) line += printed(" (%+.1fz)", *norm_z);
  return line + printed("  lr %.1e  ", rate) + with_unit(speed) + " tok/s";
}

}  // namespace evenkeel::train
