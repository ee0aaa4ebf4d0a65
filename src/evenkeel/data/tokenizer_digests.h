// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::data {

/// The digests of a tokenizer, as the manifests of shards and the records of runs have them.
struct TokenizerDigests {
  std::string file;      // Tokenizer::digest(); in a record of a run "": bytes
  std::string encoding;  // Tokenizer::encoding_digest(); "": none, or not known

  /// True if one of the digests is equal: it is the same file, or differs in what changes no id, as
  /// the tokenizer.json of an exported model.
  bool gives_equal_ids(const TokenizerDigests& other) const {
    return file == other.file || (!encoding.empty() && encoding == other.encoding);
  }
};

inline TokenizerDigests tokenizer_digests(const tokenizer::Tokenizer& tokenizer) {
  return {.file = tokenizer.digest(), .encoding = tokenizer.encoding_digest()};
}

}  // namespace evenkeel::data
