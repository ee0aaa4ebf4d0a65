// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace evenkeel::data
