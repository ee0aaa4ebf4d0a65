// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/print.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"

namespace evenkeel {

namespace {

std::atomic<bool> g_has_notes = true;
std::atomic<int> g_output_error = 0;  // errno of the first failed write to standard output

/// Remembers errno if a call on standard output failed.
void check_output(bool succeeded) {
  int none = 0;
  if (!succeeded) g_output_error.compare_exchange_strong(none, errno);
}

void write(std::FILE* stream, std::string_view bytes) {
  const bool is_whole = std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size();
  if (stream == stdout) check_output(is_whole);
}

}  // namespace

void print(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string out(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  write(stdout, printable(out));
}

void print_message(std::string_view line) {
  write(stderr, printable_line(line) + "\n");
}

void print_note(std::string_view line) {
  if (g_has_notes) print_message(line);
}

void silence_notes() {
  g_has_notes = false;
}

void print_progress(std::string_view line) {
  write(stderr, printable_line(line));
  std::fflush(stderr);
}

void erase_progress() {
  std::fputs("\r\033[K", stderr);
}

void erase_lines(std::size_t lines) {
  std::fprintf(stderr, "\033[%zuA\033[J", lines);
}

void print_bytes(std::string_view bytes) {
  write(stdout, bytes);
  check_output(std::fflush(stdout) == 0);
}

int flush_output() {
  check_output(std::fflush(stdout) == 0);
  if (g_output_error == 0 && std::ferror(stdout) != 0) g_output_error = EIO;
  return g_output_error;
}

std::string output_error_text(int error) {
  constexpr auto kPart = "standard output: cannot be written completely: ";
  switch (error) {
    case EPIPE:
      return text(kPart, "its reader is gone; send it to a file, or to a program that reads all");
    case EBADF:
      return "standard output: cannot be written: it is closed; send it to a file or to /dev/null";
    case ENOSPC:
    case EDQUOT:
      return text(kPart, "the disk is full; free space there and run again");
    default:
      return text(kPart, std::strerror(error), "; send it to another file and run again");
  }
}

}  // namespace evenkeel
