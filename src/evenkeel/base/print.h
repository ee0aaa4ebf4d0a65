// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Output for people. No other code writes to standard output or standard error
/// (tools/check_floors.py), so that no name from a file reaches a terminal with control characters.
namespace evenkeel {

/// Writes formatted text to standard output, as printf does, through printable().
[[gnu::format(printf, 1, 2)]] void print(const char* format, ...);

/// Writes printable_line() of a message and a line feed to standard error.
void print_message(std::string_view line);

/// print_message(), unless silence_notes() was called: what happens, no warning.
void print_note(std::string_view line);

/// For --quiet.
void silence_notes();

/// Writes a progress line to standard error, which the next one overwrites: printable_line()
/// without a line feed.
void print_progress(std::string_view line);

/// Erases the progress line of a terminal at standard error.
void erase_progress();

/// Erases the last `lines` lines of a terminal at standard error.
void erase_lines(std::size_t lines);

/// Writes bytes to standard output as they are and flushes it: a part of a generated text.
void print_bytes(std::string_view bytes);

/// Flushes standard output.
/// \return 0; errno of the first write to standard output that failed, also of an earlier call
int flush_output();

/// What is wrong with standard output, and what to do.
/// \param error  of flush_output()
std::string output_error_text(int error);

}  // namespace evenkeel
