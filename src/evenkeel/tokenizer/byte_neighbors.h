// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace evenkeel::tokenizer {

/// The pairs of bytes that are next to each other in a token that merges make. Between two bytes
/// that are no such pair no merge can act, so that a word may be divided there: a sequence of emoji
/// becomes words of four bytes.
class ByteNeighbors {
 public:
  /// Adds the pairs of a token.
  /// \param bytes  of the token
  void add(std::string_view bytes) {
    for (std::size_t at = 1; at < bytes.size(); ++at) pairs_.set(index(bytes[at - 1], bytes[at]));
  }

  /// True if a token has `left` just before `right`.
  bool contains(char left, char right) const { return pairs_[index(left, right)]; }

 private:
  static constexpr std::size_t kBytes = 256;
  static std::size_t index(char left, char right) {
    return static_cast<unsigned char>(left) * kBytes + static_cast<unsigned char>(right);
  }

  std::bitset<kBytes * kBytes> pairs_;
};

}  // namespace evenkeel::tokenizer
