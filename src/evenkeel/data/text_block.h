// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_files.h"

namespace evenkeel::data {

/// Bytes that grow at their end. TextWindow::kPadding readable bytes follow them.
class PaddedBytes {
 public:
  std::size_t size() const { return size_; }
  std::string_view view() const { return {bytes_.get(), size_}; }
  char* data() { return bytes_.get(); }

  /// Sets the size; new bytes are arbitrary. Doubles the capacity where it does not suffice.
  void resize(std::size_t size);
  void append(std::string_view bytes);

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
};

/// Bytes of text files that are not yet parsed. A document of kind text may continue in the next
/// block; any other document is whole.
struct TextBlock {
  enum class Form {
    text,         // a piece of a file of kind text
    lines,        // whole lines of JSON
    document,     // a document, already parsed
    end_of_file,  // no bytes: the file has no more parts
  };
  struct Part {
    const TextFile* file = nullptr;
    Form form = Form::text;
    std::size_t begin = 0, size = 0;  // in `bytes`
    std::uint64_t offset = 0;         // of the part in the text of its file
    std::int64_t line = 1;            // lines: the number of the first
    bool continues = false;           // text: the document began before it
    bool is_end = false;              // text: the document ends with it
  };
  PaddedBytes bytes;
  std::vector<Part> parts;
  JsonCounts json;  // of documents that are already parsed

  std::string_view view(const Part& part) const {
    return bytes.view().substr(part.begin, part.size);
  }
};

/// Calls `use` for each piece of a part's documents, as read_pieces() does.
/// \param part  not the end of a file
/// \throws Error (data, exit code 65), with the file and the position in it, for text that is not
///         UTF-8 and JSON that cannot be used
void for_each_piece(const TextBlock& block, const TextBlock::Part& part, JsonText& parser,
                    const std::function<void(std::string_view piece, bool is_end)>& use);

}  // namespace evenkeel::data
