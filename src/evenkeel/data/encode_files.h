// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/text_files.h"

namespace evenkeel::data {

/// What encode_files() has read.
struct EncodedText {
  std::int64_t documents = 0, bytes = 0, tokens = 0;  // tokens without end-of-text
  JsonCounts json;
};

/// A document, or a part of it.
struct EncodedPiece {
  std::span<const TokenId> ids;
  bool is_end = false;   // of the document
  TextBytes text_bytes;  // without an end-of-text token
};
using UsePieces = std::function<void(const EncodedPiece& piece)>;

/// The tokens of a document, or of a part of it.
using UseTokens = std::function<void(std::span<const TokenId> ids, bool is_end_of_document)>;

/// Reads the files and encodes their documents on several threads. Calls `use` in the order of the
/// text, by one thread at a time, so that the result does not depend on the number of threads:
///
///     thread 1   read block 1 | parse, encode 1          | use 1 | read 3 | ...
///     thread 2                | read 2 | parse, encode 2         | use 2  | ...
///
/// Memory: 6 MiB of text per thread with its tokens, and the longest document. Files of kind text
/// and a tokenizer whose line_cut() is unknown: 96 MiB per thread.
/// \param threads   at least 1, with the calling thread
/// \param progress  called as `use` is, after each block, with what was used so far; may be empty
/// \throws Error (data, exit code 65) as read_pieces() and tokenizer::Encoder::encode(): the first
///         one in the order of the text
EncodedText encode_files(const std::vector<TextFile>& files, const config::Data& data,
                         const TextEncoding& encoding, int threads, const UsePieces& use,
                         const std::function<void(const EncodedText&)>& progress = {});
/// The same, for the ids alone.
EncodedText encode_files(const std::vector<TextFile>& files, const config::Data& data,
                         const TextEncoding& encoding, int threads, const UseTokens& use,
                         const std::function<void(const EncodedText&)>& progress = {});

}  // namespace evenkeel::data
