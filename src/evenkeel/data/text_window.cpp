// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

std::unique_ptr<char[]> padded_buffer(std::size_t capacity) {
  auto buffer = std::make_unique_for_overwrite<char[]>(capacity + TextWindow::kPadding);
  std::fill_n(buffer.get() + capacity, TextWindow::kPadding, '\0');
  return buffer;
}

}  // namespace

TextWindow::TextWindow(const std::string& path, std::uint64_t max_bytes)
    : stream_(path),
      max_bytes_(max_bytes),
      capacity_(std::min<std::uint64_t>(kWindowBytes, max_bytes + 1)),
      buffer_(padded_buffer(capacity_)) {
  grow();
  if (view().starts_with(kByteOrderMark)) consume(kByteOrderMark.size());
}

bool TextWindow::grow() {
  make_room();
  const auto got = stream_.read(buffer_.get() + end_, capacity_ - end_);
  end_ += got;
  return got > 0;
}

/// Moves the window to the front of the buffer. Doubles the buffer if the window fills half of it,
/// so that every grow() reads as much as it moves.
void TextWindow::make_room() {
  const auto size = end_ - begin_;
  if (size > max_bytes_) {
    refuse(text("a document must have at most ", max_bytes_,
                " bytes, but one has more; split it, or name a smaller file"));
  }
  if (size > capacity_ / 2 && capacity_ <= max_bytes_) {
    const auto capacity = std::min<std::uint64_t>(2 * capacity_, max_bytes_ + 1);
    auto larger = padded_buffer(capacity);
    std::memcpy(larger.get(), buffer_.get() + begin_, size);
    buffer_ = std::move(larger);
    capacity_ = capacity;
  } else if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, size);
  }
  begin_ = 0;
  end_ = size;
}

std::optional<std::string_view> TextWindow::line() {
  std::size_t searched = 0;
  for (;;) {
    const auto end = view().find('\n', searched);
    if (end != std::string_view::npos) return view().substr(0, end);
    searched = view().size();
    if (grow()) continue;
    if (searched == 0) return std::nullopt;
    return view();
  }
}

void TextWindow::consume_line(std::size_t size) {
  consume(std::min(size + 1, view().size()));
}

void TextWindow::consume(std::size_t bytes) {
  EK_ASSERT(bytes <= end_ - begin_);
  begin_ += bytes;
  offset_ += bytes;
}

void TextWindow::refuse(const std::string& reason) const {
  throw Error(Exit::data, text(path(), ": ", reason));
}

}  // namespace evenkeel::data
