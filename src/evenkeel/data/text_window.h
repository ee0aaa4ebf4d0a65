// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/data/text_stream.h"

namespace evenkeel::data {

/// A window on a text: its bytes from the first that is not yet consumed. Its buffer has 1 MiB, and
/// grows to the largest window that a reader asks for. A byte order mark at the start of the text
/// is dropped.
class TextWindow {
 public:
  /// Bytes after the view that may be read, for parsers with wide loads. Their value is arbitrary.
  static constexpr std::size_t kPadding = 64;

  /// \param max_bytes  limit of the window
  TextWindow(const std::string& path, std::uint64_t max_bytes);

  /// The window. Valid until the next grow().
  std::string_view view() const { return {buffer_.get() + begin_, end_ - begin_}; }

  /// Appends more bytes to the window.
  /// \return false if the text has no more
  /// \throws Error (data, exit code 65) as TextStream::read() does, and above the limit
  bool grow();

  /// The first line of the window, without its line feed; the window grows until it has a whole
  /// line. nullopt at the end of the text. consume_line() removes it.
  std::optional<std::string_view> line();

  /// Removes a line and its line feed from the window. \param size  of the line
  void consume_line(std::size_t size);

  /// Removes the first `bytes` from the window.
  void consume(std::size_t bytes);

  /// The offset of the window in the text, in bytes.
  std::uint64_t offset() const { return offset_; }
  const TextStream& stream() const { return stream_; }
  const std::string& path() const { return stream_.path(); }

  /// \throws Error (data, exit code 65): "path: reason"
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void make_room();

  TextStream stream_;
  std::uint64_t max_bytes_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace evenkeel::data
