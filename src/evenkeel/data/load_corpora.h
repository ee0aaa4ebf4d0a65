// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/stop_wanted.h"
#include "evenkeel/data/text_encoding.h"

namespace evenkeel::data {

/// A text of a run. A mixture has several.
struct Source {
  std::string name;  // the input: "wiki/*.jsonl"
  double share = 1;  // of the windows; the shares of a mixture sum to 1
  Corpus corpus;
};

/// "; "-separated descriptions.
std::string description(const std::vector<Source>& sources);
/// Corpus::digest of one source; of a mixture, the digest of these and of the shares.
std::string digest(const std::vector<Source>& sources);

/// The texts of a run.
struct Corpora {
  std::shared_ptr<const TextEncoding> encoding;
  std::vector<Source> train;               // at least one
  std::vector<Source> validation;          // one, or one per training source
  std::optional<Corpus> ood;               // out-of-distribution text; nullopt without data.ood
  std::vector<std::string> warnings = {};  // corpora_warnings(), of load_corpora(); for people
};

/// Reads or generates the texts of `data`. With validation = "auto", splits the training texts.
/// \param context     tokens of a window
/// \param vocabulary  upper limit of the ids in token files; 0: that of the tokenizer
/// \param stop        ends the encoding of a large text; may be empty
/// \throws Error (data, exit code 65) for a missing, empty, unreadable or non-UTF-8 file (with the
///         offset); for less text than one window; for a question with answer longer than a window;
///         for a token id outside of the vocabulary, with file and position; Error (usage, exit
///         code 64) as check_unused_keys(); Error (stopped, exit code 130)
Corpora load_corpora(const config::Data& data, std::int64_t context, std::int64_t vocabulary = 0,
                     const StopWanted& stop = {});

/// The result of load_corpora(), without the training text if the validation text has another
/// source.
/// \param encoding  of the run
Corpora load_evaluation_corpora(const config::Data& data,
                                std::shared_ptr<const TextEncoding> encoding, std::int64_t context,
                                std::int64_t vocabulary = 0);

/// Reads or generates the texts of evaluate.texts, each with its name.
/// \param encoding  of the run
/// \throws Error (data, exit code 65) as load_corpora()
std::vector<Source> load_named_texts(const std::vector<config::NamedText>& texts,
                                     const config::Data& data,
                                     std::shared_ptr<const TextEncoding> encoding,
                                     std::int64_t context, std::int64_t vocabulary = 0);

}  // namespace evenkeel::data
