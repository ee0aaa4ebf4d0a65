// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/print.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "evenkeel/base/printable.h"

namespace evenkeel {

namespace {

std::atomic<bool> g_has_notes = true;

void write(std::FILE* stream, std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stream);
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
  std::fflush(stdout);
}

}  // namespace evenkeel
