// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_reader.h"

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/system_memory.h"
#include "evenkeel/data/json_array.h"
#include "evenkeel/data/json_lines.h"
#include "evenkeel/data/parquet_reader.h"
#include "evenkeel/data/text_cut.h"
#include "evenkeel/data/text_window.h"
#include "evenkeel/data/valid_utf8.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{32} << 20;

/// The pieces of a file of kind text.
void read_text_pieces(TextWindow& window,
                      const std::function<void(std::string_view piece, bool is_end)>& use) {
  std::size_t wanted = kPieceBytes;
  for (;;) {
    bool is_end = false;
    while (!is_end && window.view().size() < wanted) is_end = !window.grow();
    const auto view = window.view();
    const auto size = is_end ? view.size() : last_cut(view);
    const auto piece = view.substr(0, size);
    if (!piece.empty()) {
      check_utf8(piece, window.path(), window.offset());
      use(piece, is_end);
      window.consume(size);
    }
    if (is_end) return;
    wanted = size > 0 ? kPieceBytes : 2 * view.size();
  }
}

/// A file of kind text as a whole.
std::string whole_text(const TextFile& file, TextWindow& window) {
  const auto most = max_document_bytes();
  const auto bytes = window.stream().file_bytes();
  std::string whole;
  if (file.compression == Compression::none) {
    if (bytes > most) {
      window.refuse(
          text("must have at most ", most, " bytes, but has ", bytes, "; name a smaller file"));
    }
    whole.reserve(bytes);
  }
  read_text_pieces(window, [&](std::string_view piece, bool) {
    if (piece.size() > most - whole.size()) {
      window.refuse(text("must unpack to at most ", most,
                         " bytes, but unpacks to more; name a smaller file"));
    }
    whole += piece;
  });
  return whole;
}

/// Calls `use` for each document; the empty ones may be among them.
JsonCounts read_any(const TextFile& file, const std::string& key, TextWindow& window,
                    const std::function<void(std::string_view document)>& use) {
  switch (file.kind) {
    case TextKind::text:
      use(whole_text(file, window));
      break;
    case TextKind::jsonl:
      return read_json_lines(window, key, use, file.skips_invalid_lines);
    case TextKind::json:
      return read_json_array(window, key, use, file.skips_invalid_lines);
    case TextKind::parquet: {
      JsonCounts counts;
      read_parquet(file.path, key, [&](std::string_view document) {
        counts.empties += document.empty() ? 1 : 0;
        use(document);
      });
      return counts;
    }
  }
  return {};
}

}  // namespace

std::uint64_t max_document_bytes() {
  constexpr double kBytesPerByte = 3;
  const double memory = total_bytes();
  return memory > 0 ? static_cast<std::uint64_t>(memory / kBytesPerByte) : kMaxRecordBytes;
}

bool has_json_lines(const TextFile& file) {
  if (file.kind != TextKind::json) return file.kind == TextKind::jsonl;
  TextWindow window(file.path, max_document_bytes());
  return begins_with_object(window);
}

JsonCounts read_documents(const TextFile& file, const config::Data& data,
                          const std::function<void(std::string_view document)>& use) {
  TextWindow window(file.path, max_document_bytes());
  bool is_empty = true;
  const auto counts = read_any(file, data.text_key, window, [&](std::string_view document) {
    if (document.empty()) return;
    is_empty = false;
    use(document);
  });
  if (is_empty && !file.may_be_empty) window.refuse("must hold text, but is empty");
  return counts;
}

void read_pieces(const TextFile& file, const config::Data& data,
                 const std::function<void(std::string_view piece, bool is_end)>& use) {
  if (file.kind != TextKind::text) {
    read_documents(file, data, [&](std::string_view document) { use(document, true); });
    return;
  }
  TextWindow window(file.path, max_document_bytes());
  bool is_empty = true;
  read_text_pieces(window, [&](std::string_view piece, bool is_end) {
    is_empty = false;
    use(piece, is_end);
  });
  if (is_empty && !file.may_be_empty) window.refuse("must hold text, but is empty");
}

}  // namespace evenkeel::data
