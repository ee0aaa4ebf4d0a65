// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/console.h"

#include <unistd.h>

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
  terminal_ ? print_progress(line) : print_message(line);
  has_open_line_ = terminal_;
}

void Console::clear() {
  if (has_open_line_) erase_progress();
  has_open_line_ = false;
}

std::string line_of(const ProgressLine& progress_line) {
  auto line = printed("step %lld/%lld  loss %.3f", static_cast<long long>(progress_line.step),
                      static_cast<long long>(progress_line.steps), progress_line.loss);
  if (progress_line.gap) line += printed("  gap %.3f", *progress_line.gap);
  line += printed("  lr %.1e  |g| %.2f  ", progress_line.rate, progress_line.gradient_norm);
  return line + with_unit(progress_line.tokens_per_second) + " tok/s  left " +
         duration_text(progress_line.seconds_left);
}

}  // namespace evenkeel::train
