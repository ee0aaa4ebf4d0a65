// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"

namespace evenkeel::data {

/// The size of a training text, without its validation part.
struct TextSize {
  std::string name;  // the input
  double share = 1;  // of the windows; of a mixture
  double tokens = 0;
  std::int64_t documents = 0;             // 0: unknown
  std::optional<double> bytes_per_token;  // nullopt: the tokens have no known text
  /// Of a large text, by its first 16 MiB; of token files, without the search for the end-of-text
  /// token at which the validation part is split off.
  bool is_estimate = false;
  std::vector<std::string> warnings = {};  // Corpora::warnings, of a small text
};

/// Reads the sizes of the training texts. Encodes small texts, and the start of a large one; checks
/// only the first ids of token files whose type neither data.token_type, a header nor a manifest
/// names.
/// \param vocabulary  upper limit of the ids in token files; 0: that of the tokenizer
/// \throws Error as load_corpora()
std::vector<TextSize> text_sizes(const config::Data& data, std::int64_t vocabulary);

}  // namespace evenkeel::data
