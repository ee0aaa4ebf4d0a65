// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::tokenizer {

/// The ids of a text, from a fresh encoder.
inline std::vector<Id> encoded(const Tokenizer& tokenizer, std::string_view text,
                               bool special_in_text = true) {
  std::vector<Id> out;
  Encoder(tokenizer, special_in_text).encode(text, out);
  return out;
}

/// decode() of ids.
inline std::string decoded(const Tokenizer& tokenizer, const std::vector<Id>& ids) {
  return tokenizer.decode(std::vector<std::int64_t>(ids.begin(), ids.end()));
}

/// A tokenizer of tests/golden/tokenizers.
inline std::string golden_tokenizer(const std::string& name) {
  return text(EK_TESTS, "/golden/tokenizers/", name);
}

}  // namespace evenkeel::tokenizer
