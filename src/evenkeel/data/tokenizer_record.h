// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/tokenizer/tokenizer.h"

/// What a run records of its tokenizer under "data" of provenance.json and MANIFEST.json.
namespace evenkeel::data {

/// `tokenizer`, its kind; `tokenizer_digest`; of a tokenizer.json also `tokenizer_encoding_digest`.
/// An empty object for the tokenizer "bytes".
nlohmann::ordered_json tokenizer_record(const tokenizer::Tokenizer& tokenizer);

/// True if both tokenizers give equal ids: one of the digests is equal, or both have none (bytes).
/// \param before, now  the field "data" of a record
bool is_same_tokenizer(const nlohmann::json& before, const nlohmann::json& now);

/// Compares the tokenizer of a run with the one that its model was trained with. A manifest without
/// a digest (bytes, earlier versions) is not compared.
/// \param manifest  MANIFEST.json of the checkpoint
/// \param advice    the end of the message: what to do
/// \throws Error (differs, exit code 78)
void check_tokenizer_of_run(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer,
                            const std::string& advice);

}  // namespace evenkeel::data
