// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::tokenizer {

/// The tokenizer.json of a tokenizer of tiktoken ranks: a byte-level BPE with equal ids. Its merges
/// are all pairs of tokens whose union is a token, ordered by the rank of the union.
/// \param tokenizer  whose kind() is "tiktoken BPE"
/// \source transformers, TikTokenConverter
std::string tiktoken_json(const Tokenizer& tokenizer);

}  // namespace evenkeel::tokenizer
