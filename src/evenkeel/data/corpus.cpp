// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

TokenLengths byte_token_lengths() {
  static const TokenLengths lengths =
      std::make_shared<const std::vector<std::uint32_t>>(kByteVocabulary, 1U);
  return lengths;
}

void Corpus::append(std::string_view document, double nats) {
  const auto begin = tokens.size();
  for (const char byte : document) tokens.push_back(static_cast<unsigned char>(byte));
  documents.push_back({begin, tokens.size(), nats});
  tokens.push_back(kEndOfText);
  ++document_count;
}

}  // namespace evenkeel::data
