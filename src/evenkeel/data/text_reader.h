// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "evenkeel/config/config.h"
#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_files.h"

namespace evenkeel::data {

/// The size limit of a document in bytes: a third of the memory and the swap space.
std::uint64_t max_document_bytes();

/// True if the documents of a file are lines of JSON: .jsonl, or .json that begins with {.
/// \throws Error (data, exit code 65) for a .json file that is missing or damaged at its start
bool has_json_lines(const TextFile& file);

/// Calls `use` for each non-empty document of a file, in order. The documents are UTF-8, without a
/// byte order mark. Memory: a block of 1 MiB, and the longest document four times.
/// \param data  data.text_key
/// \return what files of JSON have apart from texts, and the empty rows of parquet
/// \throws Error (data, exit code 65), with the file and the position in it: for text that is not
///         UTF-8, JSON that cannot be used, damaged compression, or a file without text
JsonCounts read_documents(const TextFile& file, const config::Data& data,
                          const std::function<void(std::string_view document)>& use);

/// Calls `use` for each piece of the documents; the last piece of a document has `is_end`. No piece
/// is empty. A file of kind text is cut as soon as 32 MiB are there, so that its size does not
/// matter:
///
///   - after a line feed between two characters that are no white space, if no slash follows;
///   - before CR LF between a letter of ASCII and a character that is no white space.
///
/// A tokenizer with a known line_cut() gives the same ids for the pieces as for the whole.
/// Documents of other kinds are one piece each. A text without such a place is one piece.
/// \throws Error (data, exit code 65) as read_documents() does
void read_pieces(const TextFile& file, const config::Data& data,
                 const std::function<void(std::string_view piece, bool is_end)>& use);

}  // namespace evenkeel::data
