// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/neighbors.h"

namespace evenkeel::tokenizer {

Neighbors::Neighbors() : bits_((kAsciiBits + (std::size_t{1} << kHashBits)) / 64) {}

void Neighbors::add(std::string_view token) {
  if (token.empty()) return;
  auto [left, end] = first_character(token);
  while (end < token.size()) {
    const auto [right, length] = decode_utf8(token.data() + end);
    const auto bit = (left | right) < kAscii ? left * kAscii + right : hash(left, right);
    bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    left = right;
    end += length;
  }
}

}  // namespace evenkeel::tokenizer
