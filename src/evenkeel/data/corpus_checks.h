// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"

namespace evenkeel::data {

/// \param context  tokens of a window
/// \throws Error (data, exit code 65) for less text than one window, with data.order = "olmo" in no
///         file, and for documents to be masked without an end-of-text token
void check_training(const Source& source, const config::Data& data, std::int64_t context);

/// \param key  of the text: "data.validation"
/// \throws Error (data, exit code 65) for an empty text, and for a question with answer that is
///         longer than a window
void check_evaluation(const Corpus& corpus, const std::string& key, const config::Data& data,
                      std::int64_t context);

/// What makes the losses of a run misleading: without data.weights a training file that is read
/// twice, validation files with the content of training files, and a validation part of at most one
/// window.
/// \param context  tokens of a window
std::vector<std::string> corpora_warnings(const Corpora& corpora, const config::Data& data,
                                          std::int64_t context);

/// Prints the warnings of texts, each for the first time in this process: a study reads the texts
/// of each of its runs.
void print_warnings_once(const std::vector<std::string>& warnings);

}  // namespace evenkeel::data
