// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus.h"

#include <cmath>

namespace evenkeel::data {

TokenLengths byte_token_lengths() {
  static const TokenLengths lengths =
      std::make_shared<const std::vector<std::uint32_t>>(kByteVocabulary, 1U);
  return lengths;
}

TextBytes& TextBytes::operator+=(const TextBytes& more) {
  read += more.read;
  counted += more.counted;
  return *this;
}

std::int64_t TextBytes::read_of(std::int64_t part) const {
  if (read == counted || counted == 0) return part;
  if (part == counted) return read;
  const auto ratio = static_cast<double>(read) / static_cast<double>(counted);
  return std::llround(ratio * static_cast<double>(part));
}

void add_known(std::optional<TextBytes>& sum, const std::optional<TextBytes>& more) {
  if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();
  }
}

std::int64_t Corpus::bytes_of_text(std::int64_t lengths) const {
  return text_bytes ? text_bytes->read_of(lengths) : lengths;
}

void Corpus::append(std::string_view document, double nats) {
  const auto begin = tokens.size();
  for (const char byte : document) tokens.push_back(static_cast<unsigned char>(byte));
  documents.push_back({begin, tokens.size(), nats});
  tokens.push_back(kEndOfText);
  ++document_count;
}

}  // namespace evenkeel::data
