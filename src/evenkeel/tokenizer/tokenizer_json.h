// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "evenkeel/tokenizer/json_field.h"
#include "evenkeel/tokenizer/model.h"

namespace evenkeel::tokenizer {

/// The tokenizer of a tokenizer.json of Hugging Face: a BPE over bytes, or over characters with
/// byte_fallback.
/// \throws Error (data, exit code 65) for anything else, with the path and the value of the field
Model tokenizer_json(const std::string& path, std::string_view content);

/// The normalizer of a tokenizer.json.
void read_normalizer(const Field& field, Normalizer& out);

/// The pre-tokenizer of a tokenizer.json.
/// \return whether it ends in ByteLevel, which maps bytes to characters
bool read_pre_tokenizer(const Field& field, PreTokenizer& out);

/// The decoder of a tokenizer.json whose symbols are characters.
struct Decoder {
  bool metaspace_to_space = false;
  bool strips_first_space = false;
};
Decoder read_decoder(const Field& field);

/// The decoder that undoes normalizer and pre-tokenizer, for a tokenizer.json without one.
Decoder inverse_of(const Field& normalizer, const Field& pre_tokenizer);

/// Vocabulary and merges. Sets Model::bpe, token_bytes and ids.
/// \param symbols  of the words
void read_bpe(const Field& field, Bpe::Symbols symbols, const Decoder& decoder, Model& out);

}  // namespace evenkeel::tokenizer
