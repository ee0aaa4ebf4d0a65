// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

#include "evenkeel/convert/tokenizer_files.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/store/directory.h"

/// Files of an imported model that this program does not read: chat template, special tokens,
/// settings of generation. The run has them in RUN/imported, and a run that starts from its weights
/// copies them, so that their exports have them again.
namespace evenkeel::convert {

/// A model that is imported.
struct ImportOrigin {
  std::filesystem::path folder;
  std::string architecture;
  const nlohmann::json* config = nullptr;        // config.json
  const data::TextEncoding* encoding = nullptr;  // nullptr: the model has no tokenizer
};

/// import.json: version, class, folder and config.json of the model.
nlohmann::ordered_json origin_json(const ImportOrigin& origin);

/// Writes RUN/imported: tokenizer_config.json, special_tokens_map.json, added_tokens.json,
/// generation_config.json and chat_template* of the model, those that are there, and origin.json.
/// \throws Error (io, exit code 74) for a file of more than 16 MiB
void keep_files(const store::Directory& run, const ImportOrigin& origin);

/// The files and the token ids of RUN/imported.
struct KeptFiles {
  NamedTexts files;
  nlohmann::ordered_json token_ids;  // bos_token_id, eos_token_id, pad_token_id of config.json
};

/// nullopt unless the run has RUN/imported, and `encoding` is that of the imported model:
/// tokenizer, end-of-text, and whether texts begin with it.
/// \param context  model.context of the run
std::optional<KeptFiles> kept_files(const store::Directory& run, const data::TextEncoding& encoding,
                                    std::int64_t context);

/// Replaces files of `files` by kept ones of their names, and appends all other kept ones. If one
/// of tokenizer_config.json and special_tokens_map.json is kept, `files` names no special tokens in
/// the other: without a kept special_tokens_map.json it has none.
void take_kept(NamedTexts& files, const KeptFiles& kept);

/// "LlamaForCausalLM in /models/llama": the model that the run, or the run of train.from, was
/// imported from; "" for other runs.
std::string origin_text(const store::Directory& run);

}  // namespace evenkeel::convert
