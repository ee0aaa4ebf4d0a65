// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/convert/begin_processor.h"
#include "evenkeel/data/text_encoding.h"

/// The tokenizer of a Hugging Face model.
namespace evenkeel::convert {

/// tokenizer.json of the tokenizer "bytes": a byte-level BPE without merges, in which the id of a
/// byte is its value, and 256 is `<|endoftext|>`.
/// \param begin  what a text begins with; nullopt: nothing
std::string byte_tokenizer_json(const std::optional<SpelledToken>& begin = std::nullopt);

/// True if the text is a byte_tokenizer_json().
bool is_byte_tokenizer(const std::string& json);

/// The names and contents of the files.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// tokenizer.json (or tokenizer.model), tokenizer_config.json and special_tokens_map.json. Begin,
/// end and padding are the end-of-text token.
/// \param context  the most tokens of a text
/// \throws Error (io, exit code 74) if the file of the tokenizer cannot be read
NamedTexts tokenizer_files(const data::TextEncoding& encoding, std::int64_t context);

/// Why the ids of these files in transformers differ from ours for some texts.
std::vector<std::string> tokenizer_warnings(const data::TextEncoding& encoding);

}  // namespace evenkeel::convert
