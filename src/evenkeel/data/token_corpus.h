// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/text_encoding.h"

namespace evenkeel::data {

/// True if the inputs are files of token ids: by data.format, else by the ending of the first input
/// (.bin, .npy), or because it is a folder or a pattern with such files. A file whose name has a
/// wildcard is no pattern.
bool are_token_files(const std::vector<std::string>& inputs, const config::Data& data);

/// True if the model was trained on token files and nothing says which tokenizer made them: data
/// has no tokenizer, no manifest of shards of bytes, and the vocabulary is not that of bytes. Then
/// tokens have no text, and a text has no tokens.
/// \param vocabulary  of the model
bool is_tokenizer_unknown(const config::Data& data, const TextEncoding& encoding,
                          std::int64_t vocabulary);

/// What is known of the training text of a run.
/// \param vocabulary  of the model
TrainedOn training_of(const config::Data& data, const TextEncoding& encoding,
                      std::int64_t vocabulary);
/// What a run records of it under "data" of provenance.json and MANIFEST.json, and an exported
/// model in evenkeel.json.
nlohmann::ordered_json record_of(const TrainedOn& training);
/// The same, read; nullopt in records of earlier versions.
/// \param record  the content of one of these files
std::optional<TrainedOn> trained_on(const nlohmann::json& record);

/// \param what  the text that is to be tokenized: "data.ood"
/// \throws Error (data, exit code 65) if is_tokenizer_unknown()
void check_tokenizer_is_known(const config::Data& data, const TextEncoding& encoding,
                              std::int64_t vocabulary, const std::string& what);

/// The concatenated token files of the inputs, those of a folder or a pattern in the order of their
/// names. Checks all ids, and keeps none in memory.
/// \param vocabulary           upper limit of the ids
/// \param is_vocabulary_named  model.vocabulary is a number
/// Warns of shards whose documents end with another token than data.end_of_text.
/// \throws Error (data, exit code 65) for an input without token files, for a text, for shards of
///         another data.special_in_text, and as token_layout() and TokenFile::check_ids()
Corpus token_corpus(const std::vector<std::string>& inputs, const config::Data& data,
                    const TextEncoding& encoding, std::int64_t vocabulary,
                    bool is_vocabulary_named);

/// \param is_vocabulary_named  model.vocabulary is a number
/// \throws Error (data, exit code 65) for token files of which nothing says what their ids are: no
///         data.tokenizer, no manifest of shards, no model.vocabulary; and for shards of another
///         tokenizer
void check_ids_are_known(const std::vector<std::string>& inputs, const TextEncoding& encoding,
                         bool is_vocabulary_named);

/// \throws Error (data, exit code 65) for a folder with texts and token files, unless data.format
///         selects one of them
void refuse_mixed_folder(const std::string& input, const config::Data& data);

/// True if the header of each file names the type of its ids.
bool have_headers(const std::vector<std::string>& inputs, const config::Data& data,
                  std::int64_t vocabulary);

/// The numbers of tokens and documents of token files, from their headers. 0 documents: unknown.
struct TokenCount {
  std::int64_t tokens = 0, documents = 0;
};
/// \throws Error (data, exit code 65) as token_corpus(), without a check of the ids
TokenCount token_count(const std::vector<std::string>& inputs, const config::Data& data,
                       std::int64_t vocabulary);

/// Sets description and digest of a corpus of token files from its origin and tokens.
void describe_tokens(Corpus& corpus);

/// Splits off the last `fraction` of the tokens, at the last end-of-text before the cut if there is
/// one near: within a million tokens, and within as many as are split off.
/// \return the first and the second part, with description and digest
std::pair<Corpus, Corpus> split_tokens(const Corpus& corpus, double fraction);

}  // namespace evenkeel::data
