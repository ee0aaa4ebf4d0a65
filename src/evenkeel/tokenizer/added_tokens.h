// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/tokenizer/merges.h"

namespace evenkeel::tokenizer {

/// A token that is found in the text before the text is divided into words.
struct AddedToken {
  std::string text;
  Id id = 0;
  bool special = false;
};

/// A set of added tokens. Finds the leftmost of them, of several that begin there the longest.
class AddedTokens {
 public:
  /// \param token  its text is not empty and was not added before
  void add(AddedToken token);
  bool empty() const { return tokens_.empty(); }
  /// The longest token that begins at `at`; nullptr for none.
  const AddedToken* match_at(std::string_view text, std::size_t at) const {
    return by_byte_[static_cast<unsigned char>(text[at])] == 0 ? nullptr : match(text, at);
  }

  /// Calls part(text) for what is between the tokens, if it is not empty, and token(id) for each.
  /// \param special  false: special tokens are text
  template <typename Part, typename Token>
  void cut(std::string_view text, bool special, const Part& part, const Token& token) const {
    std::size_t begin = 0, at = first_candidate(text, 0);
    while (at < text.size()) {
      const auto* const found = match(text, at);
      const auto end = at + (found == nullptr ? 1 : found->text.size());
      if (found != nullptr && (special || !found->special)) {
        if (at > begin) part(text.substr(begin, at - begin));
        token(found->id);
        begin = end;
      }
      at = first_candidate(text, end);
    }
    if (begin < text.size()) part(text.substr(begin));
  }

 private:
  /// A node of a trie over bytes.
  struct Node {
    std::int32_t token = -1;  // that ends here
    std::vector<std::pair<unsigned char, std::uint32_t>> children;
  };
  std::size_t first_candidate(std::string_view text, std::size_t from) const;
  const AddedToken* match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;                   // below the first byte
  std::array<std::uint32_t, 256> by_byte_{};  // node of a first byte + 1; 0: no token begins so
  std::string first_bytes_;
};

}  // namespace evenkeel::tokenizer
