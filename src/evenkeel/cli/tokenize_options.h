// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

/// Options of `tokenize`.
struct TokenizeOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  std::string tokenizer, output, format = "olmo", shard = "100Mt", text_key = "text",
                                 name = "tokens";
  std::string pattern = "gpt2", end_of_text = "auto", data_format = "auto";
  std::string special_in_text = "true";
  bool skip_invalid = false;
  std::optional<std::string> check, show;  // --check FOLDER, --show TOKENIZER
  std::optional<std::int64_t> vocabulary;  // --train-vocabulary
  int threads = 0;                         // 0: one per processor
};

/// Adds the options and the combinations that are refused: options without effect.
void add_tokenize_options(const Command& command, TokenizeOptions& options);

}  // namespace evenkeel::cli
