// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_block.h"

#include <algorithm>
#include <cstring>

#include "evenkeel/base/error.h"
#include "evenkeel/data/json_lines.h"
#include "evenkeel/data/text_window.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::data {

namespace {

void for_each_line(std::string_view lines, const TextBlock::Part& part, JsonText& parser,
                   const std::function<void(std::string_view piece, bool is_end)>& use) {
  JsonPlace place = {.path = part.file->path, .number = part.line, .offset = part.offset};
  while (!lines.empty()) {
    const auto size = std::min(lines.find('\n'), lines.size());
    const bool is_whole = size < lines.size();
    const auto found = document_in_line(parser, lines.substr(0, size), place,
                                        part.file->skips_invalid_lines && is_whole);
    if (!found.empty()) use(found, true);
    const auto taken = std::min(size + 1, lines.size());
    lines.remove_prefix(taken);
    place.offset += taken;
    ++place.number;
  }
}

}  // namespace

void PaddedBytes::resize(std::size_t size) {
  if (size > capacity_) {
    const auto capacity = std::max(size, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + TextWindow::kPadding);
    std::fill_n(larger.get() + capacity, TextWindow::kPadding, '\0');
    if (size_ > 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  size_ = size;
}

void PaddedBytes::append(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto before = size_;
  resize(before + bytes.size());
  std::memcpy(bytes_.get() + before, bytes.data(), bytes.size());
}

void for_each_piece(const TextBlock& block, const TextBlock::Part& part, JsonText& parser,
                    const std::function<void(std::string_view piece, bool is_end)>& use) {
  const auto bytes = block.view(part);
  switch (part.form) {
    case TextBlock::Form::text:
      check_utf8(bytes, part.file->path, part.offset);
      return use(bytes, part.is_end);
    case TextBlock::Form::lines:
      return for_each_line(bytes, part, parser, use);
    case TextBlock::Form::document:
      return use(bytes, true);
    case TextBlock::Form::end_of_file:
      EK_ASSERT(false);
  }
}

}  // namespace evenkeel::data
