// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/detokenize.h"

#include "evenkeel/data/corpus.h"

namespace evenkeel::data {

std::string detokenize(std::span<const std::int64_t> tokens) {
  std::string bytes;
  for (const auto token : tokens) {
    if (token >= 0 && token < std::int64_t{kEndOfText}) bytes += static_cast<char>(token);
  }
  return bytes;
}

}  // namespace evenkeel::data
