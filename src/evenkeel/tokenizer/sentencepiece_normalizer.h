// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/tokenizer/added_tokens.h"

namespace evenkeel::tokenizer {

/// The map of characters in a SentencePiece model (precompiled_charsmap), for example NFKC.
class CharacterMap {
 public:
  CharacterMap() = default;
  /// \param content  the size of a trie (uint32), the trie (a double array of Darts), and texts
  /// that
  ///                 end with a zero byte; empty: no character is changed
  explicit CharacterMap(std::string_view content);

  bool empty() const { return units_.empty(); }

  /// What the text at `at` becomes, and its number of bytes: the longest entry of the map, or one
  /// character.
  /// \param text  well-formed UTF-8
  std::pair<std::string_view, std::size_t> at(std::string_view text, std::size_t at) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

/// The normalizer of a SentencePiece model.
/// \source sentencepiece, src/normalizer.cc
struct SentencePieceNormalizer {
  CharacterMap characters;
  AddedTokens unchanged;  // user-defined symbols
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;  // ' ' becomes U+2581
  bool treat_whitespace_as_suffix = false;
  std::string name = {};  // of the map of characters, such as nmt_nfkc

  /// What becomes of a text: "replaces characters (nmt_nfkc) and removes extra spaces". "" if only
  /// spaces are marked.
  std::string changes() const;

  /// The normalized text.
  /// \param hold       receives it
  /// \param continues  the text is the rest of one that was cut after a line feed
  std::string_view apply(std::string_view text, std::string& hold, bool continues = false) const;

 private:
  std::pair<std::string_view, std::size_t> next(std::string_view text, std::size_t at) const;
  std::string_view space() const;
  bool drops_line_feed() const;
  std::size_t first_after_spaces(std::string_view text) const;
  void append_plain(std::string_view text, std::size_t at, std::string& out) const;
  void append_mapped(std::string_view text, std::size_t at, std::string& out) const;
};

}  // namespace evenkeel::tokenizer
