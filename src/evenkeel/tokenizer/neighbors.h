// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

/// The pairs of characters that are neighbors in a token. A BPE never merges across another pair,
/// so a word may be divided there: the ids of the parts are those of the word.
class Neighbors {
 public:
  Neighbors();

  /// Enters the neighbors in a token. \param token  UTF-8
  void add(std::string_view token);

  /// May be true for a pair that no token has, but never false for one that a token has.
  bool contains(char32_t left, char32_t right) const {
    const auto bit = (left | right) < kAscii ? left * kAscii + right : hash(left, right);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }

  /// Calls part(text) for the parts of a word. \param word  well-formed UTF-8, not empty
  template <typename Part>
  void divide(std::string_view word, const Part& part) const {
    auto [left, at] = first_character(word);
    std::size_t begin = 0, end = at;
    while (end < word.size()) {
      const auto [right, length] = decode_utf8(word.data() + end);
      if (!contains(left, right)) {
        part(word.substr(begin, end - begin));
        begin = end;
      }
      left = right;
      end += length;
    }
    part(word.substr(begin));
  }

 private:
  static constexpr char32_t kAscii = 128;
  static constexpr std::size_t kAsciiBits = std::size_t{kAscii} * kAscii;
  static constexpr unsigned kHashBits = 18;  // the pairs of 32,000 tokens take a tenth of them

  /// The bit of a pair that is not ASCII.
  static std::size_t hash(char32_t left, char32_t right) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    const auto pair = std::uint64_t{left} << 32 | right;
    return kAsciiBits + static_cast<std::size_t>((pair ^ pair >> 29) * kGolden >> (64 - kHashBits));
  }

  std::vector<std::uint64_t> bits_;  // of ASCII: exact; then a hash table
};

}  // namespace evenkeel::tokenizer
