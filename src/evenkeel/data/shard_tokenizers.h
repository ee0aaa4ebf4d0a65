// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_inputs.h"
#include "evenkeel/tokenizer/tokenizer.h"

/// What the manifests of shards say about the ids: their tokenizer, and the id between documents.
namespace evenkeel::data {

/// True if the tokenizer gives the ids of the shards: it is their file, or differs from it in what
/// changes no id, as the tokenizer.json of an exported model.
bool is_tokenizer_of(const ShardManifest& manifest, const tokenizer::Tokenizer& tokenizer);

/// The inputs of data.train, data.validation and data.ood that are token files.
/// \param with_training_text  false: without those of data.train
std::vector<std::string> token_files_of(const config::Data& data, bool with_training_text);

/// Checks that one tokenizer made all shards of a run. Two shards agree if their manifests have an
/// equal digest, or if both agree with the tokenizer of the run or with a third; the order does not
/// matter. Files without a manifest are not compared.
/// \param inputs     token files
/// \param tokenizer  of the run
/// \throws Error (data, exit code 65), which names two inputs of different tokenizers
void check_one_tokenizer(const std::vector<std::string>& inputs,
                         const tokenizer::Tokenizer& tokenizer);

/// The end-of-text token that the manifests name; nullopt: there is no manifest.
/// \throws Error (data, exit code 65) if they name several
std::optional<TokenId> end_of_text_of_shards(const std::vector<TokenInput>& inputs);

/// Warns if data.end_of_text is not the token that ends the documents of shards.
/// \param named  the id of data.end_of_text
void warn_of_other_end(const std::vector<TokenInput>& inputs, TokenId named);

}  // namespace evenkeel::data
