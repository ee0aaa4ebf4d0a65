// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/block_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/data/json_array.h"
#include "evenkeel/data/parquet_reader.h"
#include "evenkeel/data/text_cut.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/text_stream.h"

namespace evenkeel::data {

namespace {

using tokenizer::LineCut;

constexpr std::size_t kBlockBytes = std::size_t{2} << 20;

std::int64_t line_count(std::string_view lines) {
  std::int64_t count = 0;
  for (auto at = lines.find('\n'); at != std::string_view::npos; at = lines.find('\n', at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

/// Text, or lines of JSON.
class BlockReader::RawFile {
 public:
  RawFile(const TextFile& file, TextBlock::Form form, LineCut cut, std::size_t large_piece)
      : file_(file), form_(form), cut_(cut), large_piece_(large_piece), stream_(file.path) {}

  /// Appends the next part to a block. \return false at the end of the file
  bool read(TextBlock& block) {
    TextBlock::Part part = {.file = &file_, .form = form_, .begin = block.bytes.size()};
    block.bytes.append(std::exchange(rest_, {}));
    drop_byte_order_mark(block, part);
    const auto size = fill(block, part.begin);
    part.size = size;
    part.offset = offset_;
    part.line = line_;
    part.continues = form_ == TextBlock::Form::text && has_begun_;
    has_begun_ = has_begun_ || size > 0;
    part.is_end = is_at_end_;
    rest_ = block.bytes.view().substr(part.begin + size);
    block.bytes.resize(part.begin + size);
    if (size > 0) block.parts.push_back(part);
    offset_ += size;
    if (form_ == TextBlock::Form::lines) line_ += line_count(block.view(part));
    return !is_at_end_;
  }

 private:
  void drop_byte_order_mark(TextBlock& block, TextBlock::Part& part) {
    if (!std::exchange(is_at_start_, false)) return;
    grow(block, kByteOrderMark.size());
    if (!block.bytes.view().substr(part.begin).starts_with(kByteOrderMark)) return;
    part.begin += kByteOrderMark.size();
    offset_ = kByteOrderMark.size();
  }

  /// Appends the next bytes of the text.
  void grow(TextBlock& block, std::size_t bytes) {
    const auto before = block.bytes.size();
    block.bytes.resize(before + bytes);
    const auto got = stream_.read(block.bytes.data() + before, bytes);
    block.bytes.resize(before + got);
    is_at_end_ = got < bytes;
  }

  /// Reads until the text from `begin` on can be cut. \return the bytes before the cut
  std::size_t fill(TextBlock& block, std::size_t begin) {
    for (auto wanted = first_wanted();; wanted = 2 * (block.bytes.size() - begin)) {
      const auto size = block.bytes.size() - begin;
      if (!is_at_end_ && size < wanted) grow(block, wanted - size);
      const auto view = block.bytes.view().substr(begin);
      if (is_at_end_) return view.size();
      if (const auto cut = cut_of(view); cut > 0) return cut;
      if (view.size() > max_bytes_) {
        throw Error(Exit::data, text(file_.path, ": a document must have at most ", max_bytes_,
                                     " bytes, but one has more; split it, or name a smaller file"));
      }
    }
  }

  /// The bytes after which a cut is looked for; not many more than a small file has.
  std::size_t first_wanted() const {
    constexpr std::uint64_t kLeast = 4096;  // files of /proc have size 0
    const bool is_exact = form_ == TextBlock::Form::lines || cut_ != LineCut::unknown;
    const auto usual = is_exact ? kBlockBytes : large_piece_;
    if (stream_.compression() != Compression::none) return usual;
    const auto unread = stream_.file_bytes() - std::min(stream_.file_bytes(), offset_);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(unread + 1, kLeast, usual));
  }

  std::size_t cut_of(std::string_view view) const {
    return form_ == TextBlock::Form::lines ? view.rfind('\n') + 1 : last_cut(view, cut_);
  }

  const TextFile& file_;
  TextBlock::Form form_;
  LineCut cut_;
  std::size_t large_piece_;
  TextStream stream_;
  std::string rest_;  // bytes after the last cut
  std::uint64_t max_bytes_ = max_document_bytes(), offset_ = 0;
  std::int64_t line_ = 1;
  bool is_at_start_ = true, is_at_end_ = false;
  bool has_begun_ = false;  // a part was read
};

/// Documents that are parsed one after another.
class BlockReader::ParsedFile {
 public:
  ParsedFile(const TextFile& file, const std::string& text_key) : file_(file) {
    if (file.kind == TextKind::parquet) {
      rows_.emplace(file.path, text_key);
    } else {
      window_.emplace(file.path, max_document_bytes());
      elements_.emplace(*window_, text_key);
    }
  }

  /// Appends documents until a block has kBlockBytes. \return false at the end of the file
  bool read(TextBlock& block) {
    const auto add = [&](std::string_view document) {
      // The elements of an array are counted by their parser.
      block.json.empties += rows_ && document.empty() ? 1 : 0;
      if (document.empty()) return;
      block.parts.push_back({.file = &file_,
                             .form = TextBlock::Form::document,
                             .begin = block.bytes.size(),
                             .size = document.size()});
      block.bytes.append(document);
    };
    while (block.bytes.size() < kBlockBytes) {
      if (rows_) {
        if (!rows_->next(add)) return false;
        continue;
      }
      const auto document = elements_->next();
      block.json += elements_->take_counts();
      if (!document) return false;
      add(*document);
    }
    return true;
  }

 private:
  const TextFile& file_;
  std::optional<ParquetReader> rows_;
  std::optional<TextWindow> window_;
  std::optional<JsonArrayReader> elements_;
};

BlockReader::BlockReader(std::span<const TextFile> files, std::string text_key, LineCut cut,
                         std::size_t large_piece)
    : files_(files), text_key_(std::move(text_key)), cut_(cut), large_piece_(large_piece) {}

BlockReader::~BlockReader() = default;

void BlockReader::open_next() {
  using Form = TextBlock::Form;
  file_ = &files_.front();
  files_ = files_.subspan(1);
  raw_.reset();
  if (file_->kind == TextKind::text) {
    raw_ = std::make_unique<RawFile>(*file_, Form::text, cut_, large_piece_);
  } else if (has_json_lines(*file_)) {
    raw_ = std::make_unique<RawFile>(*file_, Form::lines, cut_, large_piece_);
  } else {
    parsed_ = std::make_unique<ParsedFile>(*file_, text_key_);
  }
}

bool BlockReader::read(TextBlock& block) {
  while (block.bytes.size() < kBlockBytes) {
    if (file_ == nullptr && files_.empty()) return false;
    if (file_ == nullptr) open_next();
    if (raw_ ? raw_->read(block) : parsed_->read(block)) continue;
    block.parts.push_back({.file = file_, .form = TextBlock::Form::end_of_file});
    file_ = nullptr;
  }
  return file_ != nullptr || !files_.empty();
}

}  // namespace evenkeel::data
