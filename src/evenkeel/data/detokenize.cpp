// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/detokenize.h"

#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

namespace {

template <typename Token>
std::string bytes_of(std::span<const Token> tokens) {
  std::string bytes;
  for (const auto token : tokens) {
    if (token >= 0 && token < kEndOfText) bytes += static_cast<char>(token);
  }
  return bytes;
}

}  // namespace

std::string detokenize(std::span<const std::int64_t> tokens) {
  return bytes_of(tokens);
}
std::string detokenize(std::span<const std::uint16_t> tokens) {
  return bytes_of(tokens);
}

}  // namespace evenkeel::data
