// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/convert/gguf.h"
#include "evenkeel/data/text_encoding.h"

namespace evenkeel::convert {

/// Adds the keys of a byte-level BPE: tokens, their types, merges, the pattern, special ids
/// (begin, end, padding, end of a turn).
/// \param rows  of the embedding; rows without a token get an unused one
/// \throws Error (usage, exit code 64) for another tokenizer, or a pattern that llama.cpp lacks;
///         (data, 65) if its file is no tokenizer.json
void add_token_keys(GgufKeys& keys, const data::TextEncoding& encoding, std::int64_t rows);

}  // namespace evenkeel::convert
