// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/tokenizer/tokenizer.h"

/// What a run records of its tokenizer under "data" of provenance.json and MANIFEST.json.
namespace evenkeel::data {

/// `tokenizer`, its kind; `tokenizer_digest`; of a tokenizer.json also `tokenizer_encoding_digest`.
/// An empty object for the tokenizer "bytes".
nlohmann::ordered_json tokenizer_record(const tokenizer::Tokenizer& tokenizer);

/// True if both tokenizers give equal ids: one of the digests is equal, or both have none (bytes).
/// \param before, now  the field "data" of a record
bool is_same_tokenizer(const nlohmann::json& before, const nlohmann::json& now);

/// True if the model was trained with exactly this file.
/// \param manifest  MANIFEST.json of the checkpoint
bool has_digest_of(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer);

/// The digest of the file that the model was trained with; "": bytes, or an earlier version.
/// \param manifest  MANIFEST.json of the checkpoint
std::string trained_digest(const nlohmann::json& manifest);

/// The tokenizer of a run is not that of a checkpoint; it may be that of another checkpoint.
class OtherTokenizer : public Error {
 public:
  explicit OtherTokenizer(const std::string& what) : Error(Exit::differs, what) {}
};

/// What to do about a tokenizer that is not that of the training.
struct TokenizerAdvice {
  std::string copy;     // where it belongs in the run folder; "": the file there is of use
  std::string earlier;  // the path of a file with the digest of the training; "": unknown
  std::string end;      // what else to do
};

/// Compares the tokenizer of a run with the one that its model was trained with. A manifest without
/// a digest (bytes, earlier versions) is not compared.
/// \param manifest  MANIFEST.json of the checkpoint
/// \param advice    the end of the message
/// \throws OtherTokenizer (differs, exit code 78)
void check_tokenizer_of_run(const nlohmann::json& manifest, const tokenizer::Tokenizer& tokenizer,
                            const TokenizerAdvice& advice);

}  // namespace evenkeel::data
